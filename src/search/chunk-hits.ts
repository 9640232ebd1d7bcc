import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import type { StoredChunk } from '../storage/content.ts';
import type { CachedVersion, RowContent, VersionReader } from '../storage/version-reader.ts';
import type { Candidate } from './candidates.ts';

/** A candidate together with what the store holds of it. */
export interface ChunkHit {
  readonly candidate: Candidate;
  readonly version: CachedVersion;
  /** Number of the chunk in its document. */
  readonly number: number;
  readonly chunk: StoredChunk;
  /** All that the store holds of it. */
  readonly row: RowContent;
}

/** Where passages are read, and what is asked between the units of reading. */
interface ChunkHitSource {
  readonly reader: Pick<VersionReader, 'readRows'>;
  readonly yieldToEventLoop: YieldToEventLoop;
}

interface RecordSource {
  readonly reader: Pick<VersionReader, 'readRecords'>;
  readonly yieldToEventLoop: YieldToEventLoop;
}

/** Records that are read at one time; each may have 128 kB of metadata. */
const recordBatchSize = 32;
/** Passages that are read at one time: from the disk they take some milliseconds. */
const chunkBatchSize = 32;

/**
 * What the candidates stand for, in their order. One whose document was deleted while the query ran is left out; the
 * content of replaced versions outlives every query by far (`garbageDelayMs`), so the others are whole.
 */
export async function readChunkHits(
  { reader, yieldToEventLoop }: ChunkHitSource,
  collectionId: string,
  candidates: readonly Candidate[],
): Promise<ChunkHit[]> {
  const chunkHits: ChunkHit[] = [];
  for (let start = 0; start < candidates.length; start += chunkBatchSize) {
    const pause = start === 0 ? null : yieldToEventLoop();
    if (pause !== null) await pause;
    const batch =
      candidates.length <= chunkBatchSize ? candidates : candidates.slice(start, start + chunkBatchSize);
    appendChunkHits(chunkHits, batch, reader.readRows(collectionId, batch));
  }
  return chunkHits;
}

/** Records of versions in their order; undefined for one that is gone. */
export async function readRecords(
  { reader, yieldToEventLoop }: RecordSource,
  collectionId: string,
  versions: readonly number[],
): Promise<(CachedVersion | undefined)[]> {
  if (versions.length <= recordBatchSize) return reader.readRecords(collectionId, versions);
  const records: (CachedVersion | undefined)[] = [];
  for (let start = 0; start < versions.length; start += recordBatchSize) {
    const pause = start === 0 ? null : yieldToEventLoop();
    if (pause !== null) await pause;
    records.push(...reader.readRecords(collectionId, versions.slice(start, start + recordBatchSize)));
  }
  return records;
}

function appendChunkHits(
  chunkHits: ChunkHit[],
  candidates: readonly Candidate[],
  rows: readonly (RowContent | undefined)[],
): void {
  for (let i = 0; i < rows.length; i += 1) {
    const row = rows[i];
    if (row === undefined) continue;
    const { version, number, chunk } = row;
    chunkHits.push({ candidate: candidates[i]!, version, number, chunk, row });
  }
}

/** A passage as a model reads it: where it stands, then what it says. */
export function toModelText({ chunk }: ChunkHit): string {
  return chunk.prefix === '' ? chunk.text : `${chunk.prefix}\n\n${chunk.text}`;
}
