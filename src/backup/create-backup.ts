import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { BackgroundScheduler } from '../core/async/background-scheduler.ts';
import { mapInOrder } from '../core/async/map-in-order.ts';
import type { Clock } from '../core/clock.ts';
import type { Blobs } from '../storage/blobs.ts';
import { secretsFile } from '../storage/installation-secrets.ts';
import { tables } from '../storage/keys.ts';
import { currentFormat } from '../storage/migrations.ts';
import type { Store } from '../storage/store.ts';
import {
  type BackedUpFile,
  checkKey,
  createBackupId,
  formatVersion,
  type Manifest,
  readManifests,
  writeManifest,
} from './manifest.ts';
import { ObjectListWriter } from './object-list.ts';
import type { ObjectStore } from './object-store.ts';
import { splitIntoRanges } from './store-ranges.ts';
import type { BackupTarget } from './target.ts';
import type { TargetLock } from './target-lock.ts';

/** Data directory that is backed up. */
export interface BackupSource {
  readonly path: string;
  readonly store: Pick<Store, 'snapshot' | 'statistics'>;
  readonly blobs: Pick<Blobs, 'use' | 'holdDeletions'>;
  readonly lineage: string;
}

export interface BackupProgress {
  readonly phase: 'store' | 'files';
  readonly bytes: number;
  /** Estimated before the end of a phase. */
  readonly totalBytes: number;
  readonly storedBytes: number;
}

export interface CreateBackupOptions {
  readonly source: BackupSource;
  readonly target: BackupTarget;
  readonly objects: ObjectStore;
  readonly lock: Pick<TargetLock, 'check'>;
  readonly clock: Clock;
  readonly backgroundScheduler: BackgroundScheduler;
  readonly includeSecrets: boolean;
  readonly onProgress: (progress: BackupProgress) => void;
}

/** Objects written at the same time. */
const writesRunningMax = 4;
const hashBytes = 32;

/**
 * Creates a backup of one snapshot of the store, with the files that it references. Objects that the target
 * has already, even from an interrupted backup, are not written again. The manifest is written last: until
 * then, the target has only the earlier backups. The caller holds the lock of the target.
 */
export async function createBackup(options: CreateBackupOptions): Promise<Manifest> {
  const { source, target, objects, lock, clock, includeSecrets } = options;
  await target.removeUnfinished();
  // Also detects a target that is damaged or of a newer version, before anything is written.
  for (const earlier of await readManifests(target)) checkKey(earlier, objects);
  const releaseDeletions = source.blobs.holdDeletions();
  try {
    const store = await writeStore(options);
    const blobs = await writeBlobs(options, store.blobHashes);
    const files = await writeFiles(source.path, objects, includeSecrets);
    const { takenAt } = store;
    const manifest: Manifest = {
      format: formatVersion,
      id: createBackupId(takenAt, store.sequence),
      lineage: source.lineage,
      sequence: store.sequence,
      takenAt,
      finishedAt: clock.now(),
      dataFormat: currentFormat,
      entries: store.entries,
      storeBytes: store.bytes,
      ranges: store.lists,
      blobCount: blobs.count,
      blobBytes: blobs.bytes,
      blobs: blobs.lists,
      files,
      keyCheck: objects.keyCheck,
      hasSecrets: files.some(({ path }) => path === secretsFile),
      addedBytes: objects.storedBytes,
      addedObjects: objects.newObjects,
    };
    await lock.check();
    await writeManifest(target, manifest);
    return manifest;
  } finally {
    await releaseDeletions();
  }
}

async function writeStore({ source, objects, clock, backgroundScheduler, onProgress }: CreateBackupOptions) {
  const entries: Record<string, number> = {};
  const list = new ObjectListWriter(objects);
  const blobHashes: Buffer[] = [];
  let bytes = 0;
  const { liveBytes } = source.store.statistics();
  const snapshot = await source.store.snapshot();
  const takenAt = clock.now();
  try {
    const ranges = splitIntoRanges(snapshot, backgroundScheduler.slice());
    const written = mapInOrder(ranges, writesRunningMax, async ({ table, keys, group }) => {
      if (table === tables.blobReferences) blobHashes.push(hashesOf(keys));
      return { ...(await objects.put(group)), table, count: keys.length };
    });
    for await (const range of written) {
      await list.add([range.hash, range.table, range.count, range.bytes]);
      entries[range.table] = (entries[range.table] ?? 0) + range.count;
      bytes += range.bytes;
      onProgress({
        phase: 'store',
        bytes,
        totalBytes: Math.max(bytes, liveBytes),
        storedBytes: objects.storedBytes,
      });
    }
  } finally {
    await snapshot.close();
  }
  return { sequence: snapshot.sequence, takenAt, entries, bytes, blobHashes, lists: await list.finish() };
}

/** Concatenates the hashes of blob references (table byte, hash, document ID): 32 bytes of memory per blob. */
function hashesOf(keys: readonly Uint8Array[]): Buffer {
  return Buffer.concat(keys.map((key) => key.subarray(1, 1 + hashBytes)));
}

async function writeBlobs(
  { source, objects, onProgress }: CreateBackupOptions,
  blobHashes: readonly Buffer[],
) {
  const list = new ObjectListWriter(objects);
  let count = 0;
  let bytes = 0;
  const written = mapInOrder(listDistinct(blobHashes), writesRunningMax, async (hash) => {
    const file = await source.blobs.use(hash);
    return objects.putFile(file.path, hash).finally(() => file.release());
  });
  const { storedBytes } = objects;
  for await (const blob of written) {
    await list.add([blob.hash, blob.bytes]);
    count += 1;
    bytes += blob.bytes;
    onProgress({ phase: 'files', bytes, totalBytes: bytes, storedBytes: objects.storedBytes - storedBytes });
  }
  return { count, bytes, lists: await list.finish() };
}

/** A blob with several references appears several times in a row. */
async function* listDistinct(blobHashes: readonly Buffer[]): AsyncGenerator<string, void, void> {
  let last = '';
  for (const hashes of blobHashes) {
    for (let at = 0; at < hashes.byteLength; at += hashBytes) {
      const hash = hashes.toString('hex', at, at + hashBytes);
      if (hash !== last) yield hash;
      last = hash;
    }
  }
}

/** Models that were added, and the secrets of the installation. */
async function writeFiles(
  path: string,
  objects: ObjectStore,
  includeSecrets: boolean,
): Promise<BackedUpFile[]> {
  const files: BackedUpFile[] = [];
  for (const file of [...(includeSecrets ? [secretsFile] : []), ...(await listFiles(path, 'models'))]) {
    const source = join(path, file);
    const { hash, bytes } = await objects.putFile(source, await hashFile(source));
    files.push({ path: file, hash, bytes });
  }
  return files;
}

async function listFiles(path: string, folder: string): Promise<string[]> {
  const isPresent = await stat(join(path, folder)).then(
    () => true,
    () => false,
  );
  if (!isPresent) return [];
  const entries = await readdir(join(path, folder), { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(path.length + 1))
    .sort();
}

async function hashFile(path: string): Promise<string> {
  const digest = createHash('sha256');
  for await (const part of createReadStream(path)) digest.update(part as Uint8Array);
  return digest.digest('hex');
}
