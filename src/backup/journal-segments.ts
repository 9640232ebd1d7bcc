import { decodeJournal, type JournalEntry } from '../storage/journal-format.ts';
import { tables } from '../storage/keys.ts';
import { unpackGroup } from '../storage/rocksdb.ts';
import type { Manifest } from './manifest.ts';
import { decodeObject, encodeObject } from './object-format.ts';
import type { ObjectCipher, ObjectStore } from './object-store.ts';
import { type BackupTarget, piecesOf } from './target.ts';

const journalFolder = 'journal';

/** Description of a shipped segment; its name contains all of it. */
export interface SegmentInfo {
  readonly name: string;
  readonly lineage: string;
  /** Sequence number of the commit before its first one. */
  readonly previous: number;
  readonly last: number;
  /** Times of its first and last commit in milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
  /** Whether its commits reference uploaded files, which are listed in a second file. */
  readonly hasFiles: boolean;
}

const filesSuffix = '.files';
const namePattern = /^journal\/([0-9a-f-]{36})\/(\d{16})-(\d{16})-(\d{13})-(\d{13})$/;

function nameOf({ lineage, previous, last, from, to }: Omit<SegmentInfo, 'name' | 'hasFiles'>): string {
  const [first, end] = [previous, last].map((sequence) => String(sequence).padStart(16, '0'));
  const times = [from, to].map((time) => String(time).padStart(13, '0'));
  return `${journalFolder}/${lineage}/${[first, end, ...times].join('-')}`;
}

/** Returns the segments of a history, or of all, ordered by sequence number. */
export async function listSegments(target: BackupTarget, lineage?: string): Promise<SegmentInfo[]> {
  const found: Omit<SegmentInfo, 'hasFiles'>[] = [];
  const listsOfFiles = new Set<string>();
  const folder = lineage === undefined ? journalFolder : `${journalFolder}/${lineage}`;
  for await (const { name } of target.list(folder)) {
    if (name.endsWith(filesSuffix)) listsOfFiles.add(name);
    const [, owner, ...numbers] = namePattern.exec(name) ?? [];
    if (owner === undefined) continue;
    const [previous = 0, last = 0, from = 0, to = 0] = numbers.map(Number);
    found.push({ name, lineage: owner, previous, last, from, to });
  }
  return found
    .map((segment) => ({ ...segment, hasFiles: listsOfFiles.has(segment.name + filesSuffix) }))
    .sort((a, b) => a.previous - b.previous || a.last - b.last);
}

interface SegmentTarget {
  readonly target: BackupTarget;
  readonly objects: ObjectStore;
  readonly cipher: ObjectCipher | null;
}

/**
 * Writes a segment of the data directory, after the files that its commits reference. Resolves with its
 * description; null if it has no commit.
 */
export async function writeSegment(
  { target, objects, cipher }: SegmentTarget,
  segment: Buffer,
  { lineage, blobPath }: { readonly lineage: string; readonly blobPath: (hash: string) => string },
): Promise<SegmentInfo | null> {
  const records = [...decodeJournal(segment)];
  const [first, last] = [records[0], records.at(-1)];
  if (first === undefined || last === undefined) return null;
  const blobs = new Set(records.flatMap(({ group }) => listAddedBlobs(group)));
  for (const hash of blobs) await objects.putFile(blobPath(hash), hash);
  const info = { lineage, previous: first.previous, last: last.sequence, from: first.time, to: last.time };
  const name = nameOf(info);
  const hasFiles = blobs.size > 0;
  if (hasFiles) {
    const list = name + filesSuffix;
    const content = piecesOf(Buffer.from(`${[...blobs].join('\n')}\n`));
    await target.write(list, encodeObject(content, { name: list, isCompressed: false, cipher }));
  }
  // The files must be durable before a segment that references them.
  await target.flush();
  const content = piecesOf(segment.subarray(0, last.end));
  await target.write(name, encodeObject(content, { name, isCompressed: true, cipher }));
  await target.flush();
  return { name, hasFiles, ...info };
}

/** Reads the commits of a segment. Errors: `AppError` when it is missing or damaged. */
export async function readSegment(
  { target, cipher }: Pick<SegmentTarget, 'target' | 'cipher'>,
  { name }: Pick<SegmentInfo, 'name'>,
): Promise<JournalEntry[]> {
  const parts: Uint8Array[] = [];
  for await (const part of decodeObject(target.read(name), name, cipher)) parts.push(part);
  return [...decodeJournal(Buffer.concat(parts))];
}

/** Returns the hashes of the files that the commits of a segment reference. */
export async function readFilesOfSegment(
  { target, cipher }: Pick<SegmentTarget, 'target' | 'cipher'>,
  { name, hasFiles }: Pick<SegmentInfo, 'name' | 'hasFiles'>,
): Promise<string[]> {
  if (!hasFiles) return [];
  const list = name + filesSuffix;
  const parts: Uint8Array[] = [];
  for await (const part of decodeObject(target.read(list), list, cipher)) parts.push(part);
  return Buffer.concat(parts).toString('utf8').trimEnd().split('\n');
}

export async function removeSegment(
  target: BackupTarget,
  { name, hasFiles }: Pick<SegmentInfo, 'name' | 'hasFiles'>,
): Promise<void> {
  await target.remove(name);
  if (hasFiles) await target.remove(name + filesSuffix);
}

/** Returns the hashes of the blobs that a group references. */
function listAddedBlobs(group: Uint8Array): string[] {
  const hashes: string[] = [];
  for (const { type, key } of unpackGroup(group))
    if (type === 'put' && key[0] === tables.blobReferences)
      hashes.push(Buffer.from(key.subarray(1, 33)).toString('hex'));
  return hashes;
}

/** Times to which a backup and its following segments can be restored. */
export interface RecoverableWindow {
  readonly lineage: string;
  readonly fromSequence: number;
  readonly toSequence: number;
  readonly from: number;
  readonly to: number;
}

/** Returns the segments that continue a backup without a gap. */
export function followingSegments(
  { lineage, sequence }: Pick<Manifest, 'lineage' | 'sequence'>,
  segments: readonly SegmentInfo[],
): SegmentInfo[] {
  const found: SegmentInfo[] = [];
  let reached = sequence;
  for (const segment of segments) {
    if (segment.lineage !== lineage || segment.last <= reached) continue;
    if (segment.previous > reached) break;
    found.push(segment);
    reached = segment.last;
  }
  return found;
}

/** Returns the windows of all backups, joined where the segments of one reach the next, oldest first. */
export function recoverableWindows(
  manifests: readonly Manifest[],
  segments: readonly SegmentInfo[],
): RecoverableWindow[] {
  const windows: RecoverableWindow[] = [];
  for (const manifest of manifests) {
    const { lineage, sequence, takenAt } = manifest;
    const last = followingSegments(manifest, segments).at(-1);
    const toSequence = last?.last ?? sequence;
    const to = Math.max(takenAt, last?.to ?? takenAt);
    const open = windows.at(-1);
    if (open !== undefined && open.lineage === lineage && open.toSequence >= sequence)
      windows[windows.length - 1] = { ...open, toSequence, to: Math.max(open.to, to) };
    else windows.push({ lineage, fromSequence: sequence, toSequence, from: takenAt, to });
  }
  return windows;
}
