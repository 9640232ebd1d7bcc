import { AppError } from '../core/app-error.ts';
import { toTimestamp } from '../core/timestamps.ts';
import type { StoreImport } from '../storage/store-import.ts';
import {
  followingSegments,
  type RecoverableWindow,
  readSegment,
  recoverableWindows,
  type SegmentInfo,
} from './journal-segments.ts';
import type { Manifest } from './manifest.ts';
import type { ObjectCipher } from './object-store.ts';
import type { BackupTarget } from './target.ts';

/** Point in time to restore: the last commit until a time, a commit, or the newest one. */
export type RestorePoint =
  | { readonly kind: 'newest' }
  | { readonly kind: 'time'; readonly time: number }
  | { readonly kind: 'sequence'; readonly sequence: number };

/** Backup and following segments that lead to a point in time. */
export interface RestorePlan {
  readonly manifest: Manifest;
  readonly segments: readonly SegmentInfo[];
  readonly point: RestorePoint;
}

/**
 * Chooses the backup and the segments for a point in time. With several histories, the one of the newest backup that can
 * reach it. Errors: `not_found` with the recoverable windows when nothing reaches it.
 */
export function planRestore(
  manifests: readonly Manifest[],
  segments: readonly SegmentInfo[],
  point: RestorePoint,
): RestorePlan {
  for (const manifest of [...manifests].sort((a, b) => b.takenAt - a.takenAt)) {
    const following = followingSegments(manifest, segments);
    const last = following.at(-1)?.last ?? manifest.sequence;
    const isReached =
      point.kind === 'newest' ||
      (point.kind === 'time' && manifest.takenAt <= point.time) ||
      (point.kind === 'sequence' && manifest.sequence <= point.sequence && point.sequence <= last);
    if (isReached) return { manifest, segments: following, point };
  }
  throw new AppError(
    'not_found',
    manifests.length === 0
      ? 'The backup target contains no backup.'
      : `This point in time cannot be restored. Recoverable: ${recoverableWindows(manifests, segments).map(describeWindow).join('; ')}.`,
  );
}

export function describeWindow({ from, to, fromSequence, toSequence }: RecoverableWindow): string {
  const [start, end] = [from, to].map(toTimestamp);
  return `${start} to ${end} (sequence ${fromSequence} to ${toSequence})`;
}

/** Applies the commits after the backup up to the point in time. Resolves with the sequence number of the last one. */
export async function replaySegments(
  { target, cipher }: { readonly target: BackupTarget; readonly cipher: ObjectCipher | null },
  { manifest, segments, point }: RestorePlan,
  store: StoreImport,
): Promise<number> {
  let reached = manifest.sequence;
  for (const segment of segments) {
    for (const { sequence, previous, time, group } of await readSegment({ target, cipher }, segment)) {
      if (sequence <= reached) continue;
      if (previous > reached)
        throw new AppError(
          'bad_gateway',
          `The journal is damaged: commit ${reached} is followed by ${sequence}, whose predecessor is ${previous}.`,
        );
      if (point.kind === 'sequence' && sequence > point.sequence) return reached;
      if (point.kind === 'time' && time > point.time) return reached;
      store.write(Uint8Array.from(group).buffer);
      reached = sequence;
    }
  }
  return reached;
}
