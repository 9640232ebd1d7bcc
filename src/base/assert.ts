/** Our own mistakes end here: a broken invariant is a bug, never a reply to a user. */
export class AssertionFailure extends Error {
  override readonly name = 'AssertionFailure';
}

/** Throws when `condition` is false; the message says which invariant broke. */
export function assert(condition: unknown, invariant: string): asserts condition {
  if (!condition) throw new AssertionFailure(`invariant broken: ${invariant}`);
}

/** The value of a lookup that cannot miss. */
export function present<T>(value: T | null | undefined, invariant: string): T {
  assert(value !== null && value !== undefined, invariant);
  return value;
}

/** Closes a `switch` over a union: a new member fails to compile here. */
export function unreachable(value: never): never {
  throw new AssertionFailure(`unexpected case: ${JSON.stringify(value)}`);
}
