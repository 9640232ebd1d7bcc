import { assert } from '../core/assert.ts';

/** Users of the levels `user` and `user+network`, which nothing else of the host may use. */
export const sandboxUserIds = { first: 64_000, count: 1_000 } as const;

/** Of a number whose process is being started. */
const starting = -1;

/**
 * Which of the numbers are in use, shared by all threads: the id of the process that has the number, 0 for none. Processes
 * of one user may signal and inspect each other, so no two that run at one time have the same.
 */
export type SandboxUsers = Int32Array<SharedArrayBuffer>;

export function newSandboxUsers(): SandboxUsers {
  return new Int32Array(new SharedArrayBuffer((sandboxUserIds.count + 1) * Int32Array.BYTES_PER_ELEMENT));
}

/** Takes a number for a process that starts now. A number rests for as long as there are others. */
export function takeUser(users: SandboxUsers): number {
  for (const isTakeable of [isFree, isAbandoned]) {
    for (let i = 0; i < sandboxUserIds.count; i += 1) {
      const slot = (Atomics.add(users, sandboxUserIds.count, 1) >>> 0) % sandboxUserIds.count;
      const holder = Atomics.load(users, slot);
      if (isTakeable(holder) && Atomics.compareExchange(users, slot, holder, starting) === holder)
        return sandboxUserIds.first + slot;
    }
  }
  throw new Error(`all ${sandboxUserIds.count} users of the sandbox are in use`);
}

/** Names the process that runs as this user: a thread that ends without `giveUser` keeps no number for ever. */
export function holdUser(users: SandboxUsers, userId: number, pid: number): void {
  Atomics.store(users, slotOf(userId), pid);
}

/** The process has ended, or never began. */
export function giveUser(users: SandboxUsers, userId: number): void {
  Atomics.store(users, slotOf(userId), 0);
}

function slotOf(userId: number): number {
  const slot = userId - sandboxUserIds.first;
  assert(slot >= 0 && slot < sandboxUserIds.count, 'a user of the sandbox');
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
