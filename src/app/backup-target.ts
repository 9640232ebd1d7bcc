import { resolve } from 'node:path';
import { DirectoryTarget } from '../backup/directory-target.ts';
import { ObjectKey } from '../backup/object-cipher.ts';
import { type ObjectCipher, ObjectStore } from '../backup/object-store.ts';
import type { BackupTarget } from '../backup/target.ts';
import { acquireTargetLock, type TargetLock } from '../backup/target-lock.ts';
import { Throttle } from '../backup/throttle.ts';
import type { Settings } from '../config/schema.ts';
import { AppError } from '../core/app-error.ts';
import { clock, random } from './runtime.ts';

/** Opens backup targets as the settings describe them. */

export interface OpenTarget {
  readonly target: BackupTarget;
  readonly objects: ObjectStore;
  readonly cipher: ObjectCipher | null;
}

/** Errors: `bad_request` for a location that is not supported, or inside the data directory. */
export function openTarget(location: string, settings: Settings, signal: AbortSignal): OpenTarget {
  if (/^[a-z0-9]+:\/\//.test(location))
    throw new AppError('bad_request', `The backup target ${location} is not supported; expected a folder.`);
  const path = resolve(location);
  if (`${path}/`.startsWith(`${settings.data}/`))
    throw new AppError(
      'bad_request',
      `The backup target ${path} is inside the data directory. Choose a folder on another disk.`,
    );
  const target = new DirectoryTarget(path, random);
  const throttle = new Throttle(settings.backupBytesPerSecond, clock, signal);
  const { backupKey } = settings;
  const cipher = backupKey === null ? null : new ObjectKey(Buffer.from(backupKey, 'hex'), random);
  return { target, cipher, objects: new ObjectStore({ target, cipher, throttle }) };
}

/** Whether a backup contains secrets.json. */
export function includesSecrets({ backupSecrets, backupKey }: Settings): boolean {
  return backupSecrets === 'always' || backupKey !== null;
}

/** Milliseconds to wait for another process that uses the target: longer than it takes to ship a journal segment. */
const lockWaitMs = 30_000;

export function lockTarget(target: BackupTarget, operation: string): Promise<TargetLock> {
  return acquireTargetLock({ target, clock, random, operation, waitMs: lockWaitMs });
}

/** Runs work that adds or deletes objects of a target. */
export async function withTargetLock<Result>(
  target: BackupTarget,
  operation: string,
  work: (lock: TargetLock) => Promise<Result>,
): Promise<Result> {
  const lock = await lockTarget(target, operation);
  try {
    return await work(lock);
  } finally {
    await lock.release();
  }
}
