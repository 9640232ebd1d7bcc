/** Reports a broken invariant: a bug in this program, never a reply to a user. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

/** Throws an `AssertionError` when `condition` is false. `invariant` names the broken invariant. */
export function assert(condition: unknown, invariant: string): asserts condition {
  if (!condition) throw new AssertionError(`invariant violated: ${invariant}`);
}

/**
 * Returns the value of a lookup that cannot miss. Throws an `AssertionError` when the value is null or
 * undefined.
 */
export function assertDefined<T>(value: T | null | undefined, invariant: string): T {
  assert(value !== null && value !== undefined, invariant);
  return value;
}

/** Makes a `switch` over a union exhaustive: a new member of the union fails to compile here. */
export function unreachable(value: never): never {
  throw new AssertionError(`unexpected case: ${JSON.stringify(value)}`);
}
