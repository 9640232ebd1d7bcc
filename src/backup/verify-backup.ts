import { AppError } from '../core/app-error.ts';
import { mapInOrder } from '../core/async/map-in-order.ts';
import { listSegments, readFilesOfSegment, readSegment, type SegmentInfo } from './journal-segments.ts';
import { checkKey, hasManifest, listBackupIds, type Manifest, readManifest } from './manifest.ts';
import { checkObject } from './object-format.ts';
import { readObjectLists } from './object-list.ts';
import type { ObjectCipher, ObjectStore } from './object-store.ts';
import type { BackupTarget } from './target.ts';

export interface VerifyResult {
  readonly backups: number;
  readonly objects: number;
  readonly segments: number;
  readonly bytes: number;
  /** One message per problem. */
  readonly problems: readonly string[];
}

interface VerifyOptions {
  readonly target: BackupTarget;
  readonly objects: ObjectStore;
  readonly cipher: ObjectCipher | null;
  /** Called after each object. */
  readonly onObject: (bytes: number) => void;
}

const readsRunningMax = 4;
const problemsMax = 100;

/**
 * Reads every object of every backup and compares it with its SHA-256: the stored bytes, and without
 * encryption or with its key also the content.
 */
export async function verifyBackups({
  target,
  objects,
  cipher,
  onObject,
}: VerifyOptions): Promise<VerifyResult> {
  const problems: string[] = [];
  const checked = new Set<string>();
  let bytes = 0;
  const checkAll = async (hashes: AsyncIterable<string>, errors: unknown[]) => {
    const sizes = mapInOrder(listNew(hashes, checked), readsRunningMax, (hash) =>
      checkWhole(target, objects, hash).catch((error: unknown) => {
        if (errors.length < problemsMax) errors.push(error);
        return 0;
      }),
    );
    for await (const size of sizes) {
      bytes += size;
      onObject(size);
    }
  };
  /** Adds the problems of a backup or segment, unless another process pruned it meanwhile. */
  const checkPart = async (check: (errors: unknown[]) => Promise<void>, exists: () => Promise<boolean>) => {
    const errors: unknown[] = [];
    await check(errors).catch((error: unknown) => errors.push(error));
    if (errors.length === 0 || !(await exists())) return;
    const messages = errors.map((error) => (error as Error).message);
    problems.push(...messages.slice(0, problemsMax - problems.length));
  };
  const ids = await listBackupIds(target);
  for (const id of ids) {
    const check = async (errors: unknown[]) => {
      const manifest = await readManifest(target, id);
      checkKey(manifest, objects);
      await checkAll(listObjects(objects, manifest), errors);
    };
    await checkPart(check, () => hasManifest(target, id));
  }
  const segments = await listSegments(target);
  for (const segment of segments) {
    const check = async (errors: unknown[]) => {
      await checkSegment({ target, cipher }, segment);
      await checkAll(listItems(await readFilesOfSegment({ target, cipher }, segment)), errors);
    };
    await checkPart(check, () => target.has(segment.name));
  }
  return { backups: ids.length, objects: checked.size, segments: segments.length, bytes, problems };
}

async function* listItems<Item>(items: readonly Item[]): AsyncGenerator<Item, void, void> {
  yield* items;
}

/** Errors: `AppError` when a segment is damaged or has other commits than its name says. */
async function checkSegment(
  source: { readonly target: BackupTarget; readonly cipher: ObjectCipher | null },
  segment: SegmentInfo,
): Promise<void> {
  const records = await readSegment(source, segment);
  let reached = segment.previous;
  for (const { previous, sequence } of records) {
    if (previous !== reached) break;
    reached = sequence;
  }
  if (reached !== segment.last)
    throw new AppError(
      'bad_gateway',
      `The journal segment ${segment.name} is damaged: it ends at commit ${reached}.`,
    );
}

/** Yields the objects that were not checked before. */
async function* listNew(
  hashes: AsyncIterable<string>,
  checked: Set<string>,
): AsyncGenerator<string, void, void> {
  for await (const hash of hashes) {
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
