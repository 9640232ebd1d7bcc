import { AppError } from '../core/app-error.ts';
import type { IndexBlock } from '../storage/index-blocks.ts';
import type { VersionRecord } from '../storage/versions.ts';
import { type CollectionIndex, IndexError } from './collection-index.ts';
import { shardOf } from './shard-of.ts';

/** Fields of a version that staging needs besides its rows. */
export type StagedVersion = Pick<
  VersionRecord,
  'collectionId' | 'version' | 'documentId' | 'path' | 'metadata'
>;

/** `retryAfterMs` of the error when the engine is too busy to stage rows. */
const busyRetryMs = 1_000;

/**
 * Stages the rows of a version in its shard, invisible until a commit adds it. Errors: 503 if the shard is
 * busy or the index was closed.
 */
export async function stageVersion(
  index: CollectionIndex,
  { path, version, metadata }: StagedVersion,
  { vectors, terms }: IndexBlock,
): Promise<void> {
  const shard = shardOf(path, index.shards.length);
  try {
    await index.stage({ shard, version, vectors, terms, attributes: metadata });
  } catch (error) {
    // Closed while the server is running: the index was replaced, and a retry finds the replacement.
    const isTransient = error instanceof IndexError && (error.code === 'busy' || error.code === 'closed');
    throw isTransient ? indexBusy(error) : error;
  }
}

/** Whether `stageVersion` failed because the shard is busy. */
export function isShardBusy(error: unknown): boolean {
  return error instanceof AppError && error.cause instanceof IndexError && error.cause.code === 'busy';
}

function indexBusy(cause: IndexError): AppError {
  return new AppError('unavailable', 'The index is busy. Try again shortly.', {
    retryAfterMs: busyRetryMs,
    cause,
  });
}
