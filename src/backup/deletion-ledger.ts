import { tables } from '../storage/keys.ts';
import { unpackGroup } from '../storage/rocksdb.ts';
import { readSegment, type SegmentInfo } from './journal-segments.ts';
import type { Manifest } from './manifest.ts';
import { readObjectLists } from './object-list.ts';
import type { ObjectCipher, ObjectStore } from './object-store.ts';
import type { BackupTarget } from './target.ts';

interface LedgerSource {
  readonly target: BackupTarget;
  readonly objects: ObjectStore;
  readonly cipher: ObjectCipher | null;
}

/**
 * Reads the newest ledger of deletions of each history: from its last backup, and from all commits on the target
 * after it. Resolves with the keys of its rows.
 */
export async function readDeletionLedger(
  source: LedgerSource,
  manifests: readonly Manifest[],
  segments: readonly SegmentInfo[],
): Promise<Uint8Array[]> {
  const rows = new Map<string, Uint8Array>();
  for (const lineage of new Set(manifests.map((manifest) => manifest.lineage))) {
    const newest = manifests.filter((manifest) => manifest.lineage === lineage).at(-1)!;
    for (const [key, row] of await readLedgerOf(source, newest, segments)) rows.set(key, row);
  }
  return [...rows.values()];
}

async function readLedgerOf(
  { target, objects, cipher }: LedgerSource,
  { lineage, sequence, ranges }: Manifest,
  segments: readonly SegmentInfo[],
): Promise<Map<string, Uint8Array>> {
  const rows = new Map<string, Uint8Array>();
  const apply = (group: Uint8Array) => {
    for (const { type, key } of unpackGroup(group)) {
      if (key[0] !== tables.deletions) continue;
      const text = Buffer.from(key).toString('hex');
      if (type === 'put') rows.set(text, Uint8Array.from(key));
      else rows.delete(text);
    }
  };
  for await (const [hash, table] of readObjectLists(objects, ranges))
    if (table === tables.deletions) apply(await objects.readWhole(hash));
  // Also after a gap: a deletion counts even if the commits before it are lost.
  for (const segment of segments) {
    if (segment.lineage !== lineage || segment.last <= sequence) continue;
    for (const record of await readSegment({ target, cipher }, segment))
      if (record.sequence > sequence) apply(record.group);
  }
  return rows;
}
