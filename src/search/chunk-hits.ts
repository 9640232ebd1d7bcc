import type { StoredChunk } from '../storage/chunks.ts';
import type { FineChunkData, RowContent, RowLocation } from '../storage/version-reader.ts';
import type { VersionRecord } from '../storage/versions.ts';
import type { Candidate } from './candidates.ts';
import type { PreparedQuery } from './prepared-query.ts';
import type { SearchComponents } from './search-components.ts';

/** A candidate with its stored content. */
export interface ChunkHit {
  readonly candidate: Candidate;
  readonly version: VersionRecord;
  /** Index of the chunk in its document. */
  readonly number: number;
  readonly chunk: StoredChunk;
}

/** Parts of a query that reading uses. */
type ReadQuery = Pick<PreparedQuery, 'request' | 'recorder'>;

/**
 * Maximum number of records or chunks per read. Each may have a document with 128 kB of metadata, which takes
 * about a millisecond to decode.
 */
const batchSize = 8;

/**
 * Returns the stored chunks of the candidates, in their order. Candidates whose document was deleted during
 * the query are left out; the content of replaced versions is kept for `garbageDelayMs`, far longer than any
 * query, so the others are complete.
 */
export function readChunks(
  { reader }: Pick<SearchComponents, 'reader'>,
  { request: { collection, yieldToEventLoop }, recorder }: ReadQuery,
  candidates: readonly Candidate[],
): Promise<ChunkHit[]> {
  return recorder.measure('read', async () => {
    const chunkHits: ChunkHit[] = [];
    for (let start = 0; start < candidates.length; start += batchSize) {
      const pause = start === 0 ? null : yieldToEventLoop();
      if (pause !== null) await pause;
      const batch = candidates.slice(start, start + batchSize);
      appendChunkHits(chunkHits, batch, reader.readRows(collection.collectionId, batch));
    }
    return chunkHits;
  });
}

/**
 * Returns the data of the fine chunks of the candidates, in their order; undefined for a candidate without
 * vectors or whose document was deleted during the query.
 */
export function readFineChunks(
  { reader }: Pick<SearchComponents, 'reader'>,
  {
    request: { collection, yieldToEventLoop },
    recorder,
    generation,
  }: ReadQuery & Pick<PreparedQuery, 'generation'>,
  candidates: readonly RowLocation[],
): Promise<(FineChunkData | undefined)[]> {
  return recorder.measure('read', async () => {
    const found: (FineChunkData | undefined)[] = [];
    for (let start = 0; start < candidates.length; start += batchSize) {
      const pause = start === 0 ? null : yieldToEventLoop();
      if (pause !== null) await pause;
      const batch = candidates.slice(start, start + batchSize);
      found.push(...reader.readFineChunks(collection.collectionId, batch, generation));
    }
    return found;
  });
}

/** Returns the records of versions, in their order; undefined for a deleted version. */
export function readRecords(
  { reader }: Pick<SearchComponents, 'reader'>,
  { request: { collection, yieldToEventLoop }, recorder }: ReadQuery,
  versions: readonly number[],
): Promise<(VersionRecord | undefined)[]> {
  return recorder.measure('read', async () => {
    const records: (VersionRecord | undefined)[] = [];
    for (let start = 0; start < versions.length; start += batchSize) {
      const pause = start === 0 ? null : yieldToEventLoop();
      if (pause !== null) await pause;
      const batch = versions.slice(start, start + batchSize);
      records.push(...reader.readRecords(collection.collectionId, batch));
    }
    return records;
  });
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
    chunkHits.push({ candidate: candidates[i]!, version, number, chunk });
  }
}

/** Returns the text of a chunk for a model: its heading path, then its content. */
export function toModelText({ chunk }: Pick<ChunkHit, 'chunk'>): string {
  return chunk.prefix === '' ? chunk.text : `${chunk.prefix}\n\n${chunk.text}`;
}
