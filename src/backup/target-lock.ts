import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { type BackupTarget, piecesOf, readWhole } from './target.ts';

const lockFile = 'lock.json';
/** Milliseconds between renewals, and without a renewal until a lock of another machine counts as abandoned. */
const renewMs = 20_000;
const abandonedMs = 120_000;
const retryMs = 100;

interface LockRecord {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly operation: string;
  readonly renewedAt: number;
}

export interface TargetLockOptions {
  readonly target: BackupTarget;
  readonly clock: Clock;
  readonly random: Random;
  /** For messages: "a backup", "pruning". */
  readonly operation: string;
  /** Milliseconds to wait for another process. */
  readonly waitMs: number;
}

/** Lock of a target, for operations that add or delete objects. Returned by `acquireTargetLock`. */
export interface TargetLock {
  /** Aborted when another process took over the lock, because this one did not renew it in time. */
  readonly lost: AbortSignal;
  /** Errors: `conflict` when another process has the lock. */
  check(): Promise<void>;
  release(): Promise<void>;
}

/**
 * Locks a target. The lock of a process that no longer exists is taken over: at once on the same machine, after
 * two minutes without a renewal otherwise. Errors: `conflict` when another process holds it.
 */
export async function acquireTargetLock(options: TargetLockOptions): Promise<TargetLock> {
  const { target, clock, random, operation, waitMs } = options;
  const id = random.uuid();
  const record = (): LockRecord => ({
    id,
    host: hostname(),
    pid: process.pid,
    operation,
    renewedAt: clock.now(),
  });
  const deadline = clock.monotonic() + waitMs;
  for (;;) {
    if (await target.create(lockFile, JSON.stringify(record()))) break;
    const holder = await readLock(target);
    if (holder !== null && isAbandoned(holder, clock.now())) {
      await target.remove(lockFile);
      continue;
    }
    if (clock.monotonic() >= deadline) throw lockedError(target, holder);
    await sleep(retryMs);
  }
  const lost = new AbortController();
  const check = async () => {
    if ((await readLock(target))?.id === id) return;
    lost.abort(new AppError('conflict', `Another process took over the lock of ${target.location}.`));
    lost.signal.throwIfAborted();
  };
  const renew = async () => {
    await check();
    await target.write(lockFile, piecesOf(Buffer.from(JSON.stringify(record()))));
  };
  let renewing: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    // A failed renewal is repeated; the lock is lost only when another process has it.
    renewing = renewing.then(renew).catch(() => undefined);
  }, renewMs);
  timer.unref();
  return {
    lost: lost.signal,
    check,
    release: async () => {
      clearInterval(timer);
      await renewing;
      if ((await readLock(target))?.id === id) await target.remove(lockFile);
    },
  };
}

async function readLock(target: BackupTarget): Promise<LockRecord | null> {
  try {
    return JSON.parse((await readWhole(target, lockFile)).toString('utf8')) as LockRecord;
  } catch (error) {
    // Just released, or being written by its owner.
    if (error instanceof SyntaxError || (error instanceof AppError && error.code === 'not_found'))
      return null;
    throw error;
  }
}

function isAbandoned({ host, pid, renewedAt }: LockRecord, now: number): boolean {
  if (Math.abs(now - renewedAt) > abandonedMs) return true;
  if (host !== hostname()) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as { code?: unknown }).code === 'ESRCH';
  }
}

function lockedError(target: BackupTarget, holder: LockRecord | null): AppError {
  const user =
    holder === null ? 'another process' : `process ${holder.pid} on ${holder.host} (${holder.operation})`;
  return new AppError(
    'conflict',
    `The backup target ${target.location} is in use by ${user}. Try again when it has finished.`,
  );
}
