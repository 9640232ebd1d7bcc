import { access } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type BackupProgress, createBackup } from '../backup/create-backup.ts';
import { readDeletionLedger } from '../backup/deletion-ledger.ts';
import { listSegments, recoverableWindows } from '../backup/journal-segments.ts';
import { checkKey, type Manifest, readManifests } from '../backup/manifest.ts';
import { type PruneResult, parseKeepRules, pruneBackups } from '../backup/prune-backups.ts';
import {
  beginRestore,
  finishRestore,
  type RestoreProgress,
  restoreBlobs,
  restoreStore,
} from '../backup/restore-files.ts';
import { planRestore, type RestorePoint, replaySegments } from '../backup/restore-point.ts';
import { recordVerifiedRestore } from '../backup/verified-restore.ts';
import { type VerifyResult, verifyBackups } from '../backup/verify-backup.ts';
import type { Settings } from '../config/schema.ts';
import { createLogger } from '../core/logger.ts';
import { toTimestamp } from '../core/timestamps.ts';
import { type AppliedDeletions, applyDeletions } from '../storage/apply-deletions.ts';
import { ChangeFeeds } from '../storage/change-feeds.ts';
import { openDataDirectory } from '../storage/data-directory.ts';
import { writeDeletions } from '../storage/deletions.ts';
import { StoreLockedError } from '../storage/rocksdb.ts';
import { includesSecrets, openTarget, withTargetLock } from './backup-target.ts';
import { checkRestored, type RestoredCheck } from './check-restored.ts';
import { ResourceStack } from './resource-stack.ts';
import { backgroundScheduler, clock, random } from './runtime.ts';

/** Backup operations of the command line, in its own process. */

export interface BackupCommand {
  readonly settings: Settings;
  readonly target: string;
  readonly signal: AbortSignal;
}

/**
 * Creates a backup of a data directory that no server uses. Resolves with null when a server has it open, when there is
 * none, or when the data are in PostgreSQL.
 */
export async function createOfflineBackup(
  { settings, target: location, signal }: BackupCommand,
  onProgress: (progress: BackupProgress) => void,
): Promise<Manifest | null> {
  const logger = createLogger('warn', settings.logFormat);
  const { target, objects } = openTarget(location, settings, signal);
  // To open it would take the data over from the server.
  if (settings.store !== null) return null;
  if (!(await exists(join(settings.data, 'format.json')))) return null;
  const data = await openDataDirectory({
    path: settings.data,
    reserveBytes: 0,
    logger,
    random,
    backgroundScheduler,
  }).catch((error: unknown) => {
    if ((error as { cause?: unknown }).cause instanceof StoreLockedError) return null;
    throw error;
  });
  if (data === null) return null;
  try {
    return await withTargetLock(target, 'backup', (lock) =>
      createBackup({
        source: data,
        target,
        objects,
        lock,
        clock,
        backgroundScheduler,
        includeSecrets: includesSecrets(settings),
        onProgress,
      }),
    );
  } finally {
    await data.close();
  }
}

export type { RestorePoint } from '../backup/restore-point.ts';
export { toBackupInfo, toWindowInfo } from '../services/backups.ts';

/** Returns all backups and recoverable windows, oldest first. */
export async function listBackups({ settings, target: location, signal }: BackupCommand) {
  const { target } = openTarget(location, settings, signal);
  const backups = await readManifests(target);
  return { backups, windows: recoverableWindows(backups, await listSegments(target)) };
}

export function verifyTarget(
  { settings, target: location, signal }: BackupCommand,
  onObject: (bytes: number) => void,
): Promise<VerifyResult> {
  return verifyBackups({ ...openTarget(location, settings, signal), onObject });
}

export function pruneTarget(
  { settings, target: location, signal }: BackupCommand,
  keep: string,
): Promise<PruneResult> {
  const rules = parseKeepRules(keep);
  const opened = openTarget(location, settings, signal);
  return withTargetLock(opened.target, 'pruning', (lock) => pruneBackups({ ...opened, lock, rules }));
}

export interface RestoreCommand extends BackupCommand {
  /** New data directory. */
  readonly path: string;
  readonly point: RestorePoint;
  readonly onProgress: (progress: RestoreProgress) => void;
  /** Called before the restored directory is opened and searched. */
  readonly onCheck: () => void;
}

export interface RestoreResult {
  readonly manifest: Manifest;
  readonly sequence: number;
  readonly blobs: number;
  readonly check: RestoredCheck;
  /** Deleted after the restored time; the restore deletes them again. */
  readonly deletions: AppliedDeletions;
  /** Reason why the target does not record the verified restore, such as a read-only file system. */
  readonly recordError: string | null;
}

/** Restores a backup into a new folder. The folder is usable only after everything in it was verified. */
export async function restoreBackup(command: RestoreCommand): Promise<RestoreResult> {
  const { target: location, signal, onProgress } = command;
  const path = resolve(command.path);
  const settings: Settings = { ...command.settings, data: path };
  const { target, objects, cipher } = openTarget(location, settings, signal);
  const [manifests, segments] = [await readManifests(target), await listSegments(target)];
  const plan = planRestore(manifests, segments, command.point);
  const { manifest } = plan;
  checkKey(manifest, objects);
  const record = {
    backup: manifest.id,
    lineage: manifest.lineage,
    sequence: manifest.sequence,
    restoredAt: toTimestamp(clock.now()),
  };
  await beginRestore(path, record);
  const sequence = await restoreStore({ path, manifest, objects, random, onProgress }, (store) =>
    replaySegments({ target, cipher }, plan, store),
  );
  const logger = createLogger('warn', settings.logFormat);
  const resources = new ResourceStack();
  let result: Pick<RestoreResult, 'blobs' | 'check' | 'deletions'>;
  try {
    const data = await openDataDirectory({
      path,
      reserveBytes: 0,
      logger,
      random,
      backgroundScheduler,
      mayBeIncomplete: true,
    });
    resources.add(() => data.close());
    const ledger = await readDeletionLedger({ target, objects, cipher }, manifests, segments);
    await writeDeletions(data.store, ledger);
    const deletions = await applyDeletions(data.store, clock.now());
    await new ChangeFeeds(data.store, random).restartAll(clock.now());
    const blobs = await restoreBlobs(data, objects, manifest, onProgress);
    command.onCheck();
    result = { blobs, deletions, check: await checkRestored(settings, resources, { data, logger }) };
  } finally {
    await resources.close();
  }
  signal.throwIfAborted();
  await finishRestore(path, { ...record, sequence });
  const verified = { backup: manifest.id, sequence, verifiedAt: clock.now() };
  const recordError = await recordVerifiedRestore(target, verified).then(
    () => null,
    (error: unknown) => (error as Error).message,
  );
  return { manifest, sequence, recordError, ...result };
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
