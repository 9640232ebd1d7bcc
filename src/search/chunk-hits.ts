import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import type { StoredChunk } from '../storage/chunks.ts';
import type { CachedVersion, RowContent, VersionReader } from '../storage/version-reader.ts';
import type { Candidate } from './candidates.ts';

/** A candidate with its stored content. */
export interface ChunkHit {
  readonly candidate: Candidate;
  readonly version: CachedVersion;
  /** Index of the chunk in its document. */
  readonly number: number;
  readonly chunk: StoredChunk;
  /** Stored content of the row. */
  readonly row: RowContent;
}

/** Source of chunks, and the yield function called between read batches. */
interface ChunkHitSource {
  readonly reader: Pick<VersionReader, 'readRows'>;
  readonly yieldToEventLoop: YieldToEventLoop;
}

interface RecordSource {
  readonly reader: Pick<VersionReader, 'readRecords'>;
  readonly yieldToEventLoop: YieldToEventLoop;
}

/** Maximum number of records per read; each may have 128 kB of metadata. */
const recordBatchSize = 32;
/** Maximum number of chunks per read: reading them from disk takes some milliseconds. */
const chunkBatchSize = 32;

/**
 * Returns the stored chunks of the candidates, in their order. Candidates whose document was deleted during
 * the query are left out; the content of replaced versions is kept for `garbageDelayMs`, far longer than any
 * query, so the others are complete.
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

/** Returns the records of versions, in their order; undefined for a deleted version. */
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

/** Returns the text of a chunk for a model: its heading path, then its content. */
export function toModelText({ chunk }: ChunkHit): string {
  return chunk.prefix === '' ? chunk.text : `${chunk.prefix}\n\n${chunk.text}`;
}
