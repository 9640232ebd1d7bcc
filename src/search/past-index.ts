import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '../core/app-error.ts';
import type { CancellationToken } from '../core/async/cancellation-token.ts';
import type { Clock } from '../core/clock.ts';
import { queryLimits } from '../core/query-limits.ts';
import { type CollectionIndex, IndexError, type StagedDocument } from '../index/collection-index.ts';
import type { Contents } from '../storage/content.ts';
import type { Versions } from '../storage/versions.ts';

export interface PastIndexOptions {
  readonly versions: Pick<Versions, 'get'>;
  readonly contents: { readonly blocks: Pick<Contents['blocks'], 'readBlock'> };
  /** Returns an empty index with one shard that the caller drops. */
  readonly createIndex: (dimensions: number) => Promise<CollectionIndex>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** Kept versions of one collection. */
export interface PastVersionSet {
  readonly collectionId: string;
  readonly dimensions: number;
  /** Generation of the vectors of the collection. */
  readonly generation: number;
  readonly versions: Iterable<number>;
}

interface BuildBounds {
  /** Time of `Clock.monotonic()`. */
  readonly endsAt: number;
  readonly caller: CancellationToken;
}

/** Milliseconds before rows are staged again after the engine was busy. */
const busyRetryMs = 20;

/**
 * Runs `use` with an index of kept versions, which exists in memory only and is dropped afterwards. Errors: 400 if they
 * have too many rows, 503 at the deadline; the caller's reason if it was canceled.
 */
export async function withPastIndex<Result>(
  options: PastIndexOptions,
  set: PastVersionSet,
  bounds: BuildBounds,
  use: (index: CollectionIndex) => Promise<Result>,
): Promise<Result> {
  const index = await options.createIndex(set.dimensions);
  try {
    await fill(index, options, set, bounds);
    return await use(index);
  } finally {
    await index.drop();
  }
}

async function fill(
  index: CollectionIndex,
  { versions, contents, clock }: PastIndexOptions,
  { collectionId, dimensions, generation, versions: numbers }: PastVersionSet,
  { endsAt, caller }: BuildBounds,
): Promise<void> {
  let rows = 0;
  let sequence = 0;
  for (const version of numbers) {
    const record = versions.get(collectionId, version);
    // Erased meanwhile.
    if (record === undefined) continue;
    const block = await contents.blocks.readBlock(record.documentId, generation);
    if (block === undefined) continue;
    rows += block.rowCount;
    checkSize(rows, dimensions);
    const { vectors, terms } = block;
    const document = { shard: 0, version, vectors, terms, attributes: record.metadata };
    await stage(index, document, () => {
      if (caller.isCanceled) throw caller.signal.reason;
      if (clock.monotonic() > endsAt) throw timeoutError();
    });
    sequence += 1;
    index.commit({ sequence, shard: 0, add: version });
  }
}

/** Waits while the shard is busy, which ends by itself: nothing else uses it. */
async function stage(
  index: CollectionIndex,
  document: StagedDocument,
  checkDeadline: () => void,
): Promise<void> {
  for (;;) {
    checkDeadline();
    try {
      await index.stage(document);
      return;
    } catch (error) {
      if (!(error instanceof IndexError) || error.code !== 'busy') throw error;
      await wait(busyRetryMs);
    }
  }
}

function checkSize(rows: number, dimensions: number): void {
  const { pastRowsMax, pastVectorBytesMax } = queryLimits;
  const rowsMax = Math.min(
    pastRowsMax,
    Math.floor(pastVectorBytesMax / (dimensions * Float32Array.BYTES_PER_ELEMENT)),
  );
  if (rows <= rowsMax) return;
  throw new AppError(
    'bad_request',
    `The documents that were replaced or deleted since as_of have more than ${rowsMax.toLocaleString('en-US')} chunks. Send a later moment.`,
  );
}

function timeoutError(): AppError {
  return new AppError('unavailable', 'The search timed out. Try again shortly, or send a later as_of.', {
    retryAfterMs: 2_000,
  });
}
