import { AppError } from '../core/app-error.ts';
import { listSegments, readFilesOfSegment, removeSegment, type SegmentInfo } from './journal-segments.ts';
import { checkKey, listBackupIds, type Manifest, readManifest, removeManifest } from './manifest.ts';
import { type ObjectCipher, type ObjectStore, objectsFolder } from './object-store.ts';
import type { BackupTarget } from './target.ts';
import type { TargetLock } from './target-lock.ts';
import { listObjects } from './verify-backup.ts';

const kinds = ['last', 'hourly', 'daily', 'weekly', 'monthly'] as const;
type KeepKind = (typeof kinds)[number];

/** Number of backups to keep, by kind: the newest of each hour, day, week or month, or simply the newest. */
export type KeepRules = Readonly<Partial<Record<KeepKind, number>>>;

/** Parses `last:3,daily:7`. Errors: `bad_request`. */
export function parseKeepRules(text: string): KeepRules {
  const rules: Partial<Record<KeepKind, number>> = {};
  for (const part of text.split(',')) {
    const [, kind, count] = /^(last|hourly|daily|weekly|monthly):([1-9]\d{0,4})$/.exec(part) ?? [];
    if (kind === undefined)
      throw new AppError(
        'bad_request',
        `${JSON.stringify(part)} is not a valid rule for backups to keep; expected for example last:3,daily:7,weekly:4,monthly:12.`,
      );
    rules[kind as KeepKind] = Number(count);
  }
  return rules;
}

const dayMs = 86_400_000;
/** 1970-01-05 was a Monday. */
const firstMondayMs = 4 * dayMs;

const periodOf: Readonly<Record<KeepKind, (takenAt: number) => string>> = {
  last: String,
  hourly: (takenAt) => new Date(takenAt).toISOString().slice(0, 13),
  daily: (takenAt) => new Date(takenAt).toISOString().slice(0, 10),
  weekly: (takenAt) => String(Math.floor((takenAt - firstMondayMs) / (7 * dayMs))),
  monthly: (takenAt) => new Date(takenAt).toISOString().slice(0, 7),
};

/** Returns the IDs of the backups that the rules keep. The newest backup is always one of them. */
export function selectKept(
  backups: readonly Pick<Manifest, 'id' | 'takenAt'>[],
  rules: KeepRules,
): Set<string> {
  const newestFirst = [...backups].sort((a, b) => b.takenAt - a.takenAt);
  const kept = new Set<string>(newestFirst.slice(0, 1).map(({ id }) => id));
  for (const kind of kinds) {
    const periods = new Set<string>();
    for (const { id, takenAt } of newestFirst) {
      const period = kind === 'last' ? id : periodOf[kind](takenAt);
      if (periods.has(period)) continue;
      if (periods.size >= (rules[kind] ?? 0)) break;
      periods.add(period);
      kept.add(id);
    }
  }
  return kept;
}

export interface PruneResult {
  readonly kept: readonly string[];
  readonly removed: readonly string[];
  /** Number of journal segments before the oldest kept backup of their history. */
  readonly removedSegments: number;
  readonly removedObjects: number;
  readonly removedBytes: number;
}

interface PruneOptions {
  readonly target: BackupTarget;
  readonly objects: ObjectStore;
  readonly cipher: ObjectCipher | null;
  readonly lock: Pick<TargetLock, 'check'>;
  readonly rules: KeepRules;
}

/**
 * Removes backups that the rules do not keep, and all objects that no remaining backup uses. Manifests are
 * removed first: an interruption leaves only unused objects. The caller holds the lock of the target.
 */
export async function pruneBackups({
  target,
  objects,
  cipher,
  lock,
  rules,
}: PruneOptions): Promise<PruneResult> {
  await target.removeUnfinished();
  const manifests: Manifest[] = [];
  for (const id of await listBackupIds(target)) manifests.push(await readManifest(target, id));
  for (const manifest of manifests) checkKey(manifest, objects);
  const kept = selectKept(manifests, rules);
  // Read before anything is removed: with a damaged list, nothing can be removed safely.
  const used = new Set<string>();
  for (const manifest of manifests)
    if (kept.has(manifest.id))
      for await (const hash of listObjects(objects, manifest)) used.add(objects.nameOf(hash));
  const segments = await listSegments(target);
  const oldSegments = segments.filter((segment) => !isNeeded(segment, manifests, kept));
  for (const segment of segments)
    if (!oldSegments.includes(segment))
      for (const hash of await readFilesOfSegment({ target, cipher }, segment))
        used.add(objects.nameOf(hash));
  const removed = manifests.filter(({ id }) => !kept.has(id)).map(({ id }) => id);
  await lock.check();
  for (const id of removed) await removeManifest(target, id);
  for (const segment of oldSegments) await removeSegment(target, segment);
  await target.flush();
  let removedObjects = 0;
  let removedBytes = 0;
  for await (const { name, bytes } of target.list(objectsFolder)) {
    if (used.has(name)) continue;
    if (removedObjects % 1_000 === 0) await lock.check();
    await target.remove(name);
    removedObjects += 1;
    removedBytes += bytes;
  }
  await target.flush();
  const removedSegments = oldSegments.length;
  return { kept: [...kept].sort(), removed, removedSegments, removedObjects, removedBytes };
}

/** Whether a segment continues a backup that is kept. */
function isNeeded(
  { lineage, last }: SegmentInfo,
  manifests: readonly Manifest[],
  kept: ReadonlySet<string>,
): boolean {
  return manifests.some(
    (manifest) => kept.has(manifest.id) && manifest.lineage === lineage && manifest.sequence < last,
  );
}
