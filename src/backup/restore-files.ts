import { mkdir, readdir, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AppError } from '../core/app-error.ts';
import { mapInOrder } from '../core/async/map-in-order.ts';
import type { Random } from '../core/ids.ts';
import { listReferencedBlobs } from '../storage/blob-references.ts';
import {
  type DataDirectory,
  encodeFormat,
  incompleteRestoreFile,
  restoreFile,
} from '../storage/data-directory.ts';
import { replaceFile, syncFolder, writeFileSynced } from '../storage/durable-files.ts';
import { putLineage } from '../storage/lineage.ts';
import { packGroup, unpackGroup } from '../storage/rocksdb.ts';
import { StoreImport } from '../storage/store-import.ts';
import type { Manifest } from './manifest.ts';
import { readObjectLists } from './object-list.ts';
import type { ObjectStore } from './object-store.ts';

export interface RestoreProgress {
  readonly phase: 'store' | 'files';
  readonly bytes: number;
  readonly totalBytes: number;
}

/** Written into the restored directory. */
export interface RestoreRecord {
  readonly backup: string;
  readonly lineage: string;
  readonly sequence: number;
  /** Time of the restore. */
  readonly restoredAt: string;
}

interface RestoreStoreOptions {
  readonly path: string;
  readonly manifest: Manifest;
  readonly objects: ObjectStore;
  readonly random: Random;
  readonly onProgress: (progress: RestoreProgress) => void;
}

/** Blobs written at the same time. */
const writesRunningMax = 4;

/**
 * Creates the folder of a restored data directory, with a marker that keeps servers from opening it. Errors:
 * `conflict` when the folder exists and is not empty.
 */
export async function beginRestore(path: string, record: RestoreRecord): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  const [found] = await readdir(path);
  if (found !== undefined)
    throw new AppError(
      'conflict',
      `The folder ${path} is not empty (found ${found}). Restore into a new folder; an existing data directory is never changed.`,
    );
  await replaceFile(join(path, incompleteRestoreFile), `${JSON.stringify(record)}\n`);
}

/** Declares a restored and verified directory usable. */
export async function finishRestore(path: string, record: RestoreRecord): Promise<void> {
  await replaceFile(join(path, incompleteRestoreFile), `${JSON.stringify(record)}\n`);
  await rename(join(path, incompleteRestoreFile), join(path, restoreFile));
  await syncFolder(path);
}

/**
 * Writes the store and the files of the directory. Every object is compared with its SHA-256, and the number of
 * entries with the manifest. `replay` applies later commits and returns the sequence number of the last one.
 */
export async function restoreStore(
  { path, manifest, objects, random, onProgress }: RestoreStoreOptions,
  replay: (store: StoreImport) => Promise<number>,
): Promise<number> {
  await replaceFile(join(path, 'format.json'), encodeFormat(manifest.dataFormat));
  for (const file of manifest.files) await restoreFileOf(path, file, objects);
  const store = await StoreImport.open(join(path, 'store'));
  try {
    const entries: Record<string, number> = {};
    let bytes = 0;
    for await (const [hash, table = 0, count = 0] of readObjectLists(objects, manifest.ranges)) {
      const group = await objects.readWhole(hash);
      const found = [...unpackGroup(group)].length;
      if (found !== count) throw countsDiffer(`range ${hash}`, count, found);
      store.write(toArrayBuffer(group));
      entries[table] = (entries[table] ?? 0) + count;
      bytes += group.byteLength;
      onProgress({ phase: 'store', bytes, totalBytes: manifest.storeBytes });
    }
    for (const [table, count] of Object.entries(manifest.entries))
      if (entries[table] !== count) throw countsDiffer(`table ${table}`, count, entries[table] ?? 0);
    let blobs = 0;
    for await (const _ of readObjectLists(objects, manifest.blobs)) blobs += 1;
    if (blobs !== manifest.blobCount) throw countsDiffer('the list of files', manifest.blobCount, blobs);
    await store.setSequence(manifest.sequence);
    const sequence = await replay(store);
    const lineage = putLineage(random.uuid());
    if (lineage.type === 'put') store.write(await packGroup([lineage], () => null));
    await store.setSequence(sequence);
    return sequence;
  } finally {
    await store.close();
  }
}

/** Writes the blobs that the restored store references, each compared with its SHA-256. Resolves to their number. */
export async function restoreBlobs(
  { store, blobs }: Pick<DataDirectory, 'store' | 'blobs'>,
  objects: ObjectStore,
  { blobBytes }: Pick<Manifest, 'blobBytes'>,
  onProgress: (progress: RestoreProgress) => void,
): Promise<number> {
  let count = 0;
  let bytes = 0;
  const restored = mapInOrder(listReferencedBlobs(store), writesRunningMax, async (hash) => {
    const writer = await blobs.createWriter();
    try {
      for await (const part of objects.read(hash)) await writer.write(part);
      const blob = await writer.finish();
      blob.release();
      return blob.size;
    } catch (error) {
      await writer.abort();
      throw error;
    }
  });
  for await (const size of restored) {
    count += 1;
    bytes += size;
    onProgress({ phase: 'files', bytes, totalBytes: Math.max(bytes, blobBytes) });
  }
  return count;
}

async function restoreFileOf(
  path: string,
  file: Manifest['files'][number],
  objects: ObjectStore,
): Promise<void> {
  const parts = file.path.split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..'))
    throw new AppError('bad_gateway', `The manifest has an invalid file name: ${JSON.stringify(file.path)}.`);
  const destination = join(path, ...parts);
  await mkdir(dirname(destination), { recursive: true, mode: 0o700 });
  await writeFileSynced(destination, objects.read(file.hash));
  await syncFolder(dirname(destination));
}

function toArrayBuffer(bytes: Uint8Array): ArrayBuffer {
  return Uint8Array.from(bytes).buffer;
}

function countsDiffer(part: string, expected: number, found: number): AppError {
  return new AppError(
    'bad_gateway',
    `The backup is damaged: ${part} has ${found} entries instead of ${expected}.`,
  );
}
