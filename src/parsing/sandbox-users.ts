import { assert } from '../core/assert.ts';

/** User ids for the sandbox levels `user` and `user+network`; no other software on the host may use them. */
export const sandboxUserIds = { first: 64_000, count: 1_000 } as const;

/** Marks a slot whose process is being started. */
const starting = -1;

/**
 * Allocation of the sandbox user ids, shared by all threads: per slot the id of the process that holds it, 0
 * for none. Processes of one user may signal and inspect each other, so two running processes never share a
 * user id. The last element is the allocation counter.
 */
export type SandboxUsers = Int32Array<SharedArrayBuffer>;

export function newSandboxUsers(): SandboxUsers {
  return new Int32Array(new SharedArrayBuffer((sandboxUserIds.count + 1) * Int32Array.BYTES_PER_ELEMENT));
}

/**
 * Allocates a user id for a process that is about to start. Round robin: an id is reused as late as possible.
 */
export function allocateUser(users: SandboxUsers): number {
  for (const isAvailable of [isFree, isAbandoned]) {
    for (let i = 0; i < sandboxUserIds.count; i += 1) {
      const slot = (Atomics.add(users, sandboxUserIds.count, 1) >>> 0) % sandboxUserIds.count;
      const holder = Atomics.load(users, slot);
      if (isAvailable(holder) && Atomics.compareExchange(users, slot, holder, starting) === holder)
        return sandboxUserIds.first + slot;
    }
  }
  throw new Error(`all ${sandboxUserIds.count} sandbox users are in use`);
}

/**
 * Records the process that runs as this user, so that a thread that ends without `releaseUser` does not leak the
 * id.
 */
export function assignUser(users: SandboxUsers, userId: number, pid: number): void {
  Atomics.store(users, slotOf(userId), pid);
}

/** Releases the id after the process has ended or failed to start. */
export function releaseUser(users: SandboxUsers, userId: number): void {
  Atomics.store(users, slotOf(userId), 0);
}

function slotOf(userId: number): number {
  const slot = userId - sandboxUserIds.first;
  assert(slot >= 0 && slot < sandboxUserIds.count, 'a sandbox user');
  return slot;
}

function isFree(holder: number): boolean {
  return holder === 0;
}

function isAbandoned(holder: number): boolean {
  if (holder <= 0) return false;
  try {
    process.kill(holder, 0);
    return false;
  } catch {
    return true;
  }
}
