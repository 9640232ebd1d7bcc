import { mapInOrder } from '../core/async/map-in-order.ts';
import { listBackupIds, type Manifest, readManifest } from './manifest.ts';
import { checkObject } from './object-format.ts';
import { readObjectLists } from './object-list.ts';
import type { ObjectStore } from './object-store.ts';
import type { BackupTarget } from './target.ts';

export interface VerifyResult {
  readonly backups: number;
  readonly objects: number;
  readonly bytes: number;
  /** One message per problem. */
  readonly problems: readonly string[];
}

interface VerifyOptions {
  readonly target: BackupTarget;
  readonly objects: ObjectStore;
  /** Called after each object. */
  readonly onObject: (bytes: number) => void;
}

const readsRunningMax = 4;
const problemsMax = 100;

/**
 * Reads every object of every backup and compares it with its SHA-256: the stored bytes, and without
 * encryption or with its key also the content.
 */
export async function verifyBackups({ target, objects, onObject }: VerifyOptions): Promise<VerifyResult> {
  const problems: string[] = [];
  const report = (error: unknown) => {
    if (problems.length < problemsMax) problems.push((error as Error).message);
  };
  const checked = new Set<string>();
  let bytes = 0;
  const ids = await listBackupIds(target);
  for (const id of ids) {
    try {
      const manifest = await readManifest(target, id);
      const sizes = mapInOrder(listNew(objects, manifest, checked), readsRunningMax, (hash) =>
        checkWhole(target, objects, hash).catch((error: unknown) => {
          report(error);
          return 0;
        }),
      );
      for await (const size of sizes) {
        bytes += size;
        onObject(size);
      }
    } catch (error) {
      report(error);
    }
  }
  return { backups: ids.length, objects: checked.size, bytes, problems };
}

/** Yields the objects of a backup that were not checked for an earlier one. */
async function* listNew(
  objects: ObjectStore,
  manifest: Manifest,
  checked: Set<string>,
): AsyncGenerator<string, void, void> {
  for await (const hash of listObjects(objects, manifest)) {
    if (checked.has(hash)) continue;
    checked.add(hash);
    yield hash;
  }
}

/** Yields the hashes of all objects of a backup. Errors: `AppError` when a list object is missing or damaged. */
export async function* listObjects(
  objects: ObjectStore,
  { ranges, blobs, files }: Manifest,
): AsyncGenerator<string, void, void> {
  yield* ranges;
  yield* blobs;
  for (const { hash } of files) yield hash;
  for await (const [hash] of readObjectLists(objects, ranges)) yield hash;
  for await (const [hash] of readObjectLists(objects, blobs)) yield hash;
}

async function checkWhole(target: BackupTarget, objects: ObjectStore, hash: string): Promise<number> {
  const size = await checkObject(target.read(objects.nameOf(hash)), objects.nameOf(hash));
  for await (const _ of objects.read(hash));
  return size;
}
