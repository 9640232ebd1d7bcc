import { resolve } from 'node:path';
import { DirectoryTarget } from '../backup/directory-target.ts';
import { ObjectKey } from '../backup/object-cipher.ts';
import { type ObjectCipher, ObjectStore } from '../backup/object-store.ts';
import { parseS3Location, S3Target, type S3TargetOptions } from '../backup/s3-target.ts';
import type { BackupTarget } from '../backup/target.ts';
import { acquireTargetLock, type TargetLock } from '../backup/target-lock.ts';
import { Throttle } from '../backup/throttle.ts';
import type { Settings } from '../config/schema.ts';
import { AppError } from '../core/app-error.ts';
import { clock, random } from './runtime.ts';
import { s3Config } from './s3-config.ts';

/** Opens backup targets as the settings describe them. */

export interface OpenTarget {
  readonly target: BackupTarget;
  readonly objects: ObjectStore;
  readonly cipher: ObjectCipher | null;
}

/** Errors: `bad_request` for a location that is not supported, or inside the data directory. */
export function openTarget(location: string, settings: Settings, signal: AbortSignal): OpenTarget {
  const s3Location = parseS3Location(location);
  const target =
    s3Location === null
      ? openFolder(location, settings)
      : new S3Target({
          ...s3Location,
          location,
          noun: 'backup target',
          clock,
          config: backupS3Config(settings),
        });
  const throttle = new Throttle(settings.backupBytesPerSecond, clock, signal);
  const { backupKey } = settings;
  const cipher = backupKey === null ? null : new ObjectKey(Buffer.from(backupKey, 'hex'), random);
  return { target, cipher, objects: new ObjectStore({ target, cipher, throttle }) };
}

function openFolder(location: string, { data }: Settings): DirectoryTarget {
  if (/^[a-z0-9]+:\/\//.test(location))
    throw new AppError(
      'bad_request',
      `The backup target ${location} is not supported; expected a folder or s3://bucket/folder.`,
    );
  const path = resolve(location);
  if (`${path}/`.startsWith(`${data}/`))
    throw new AppError(
      'bad_request',
      `The backup target ${path} is inside the data directory. Choose a folder on another disk.`,
    );
  return new DirectoryTarget(path, random);
}

function backupS3Config(settings: Settings): S3TargetOptions['config'] {
  return s3Config({
    endpoint: settings.backupS3Endpoint,
    region: settings.backupS3Region,
    accessKeyId: settings.backupS3AccessKeyId,
    secretAccessKey: settings.backupS3SecretAccessKey,
  });
}

/** Returns the location independent of the working folder. */
export function absoluteLocation(location: string): string {
  return parseS3Location(location) === null ? resolve(location) : location;
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
