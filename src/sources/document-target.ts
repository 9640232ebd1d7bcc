import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../core/app-error.ts';
import { formatCount } from '../core/format.ts';
import { sourceLimits } from '../core/source-limits.ts';
import type { DocumentWriter, ReserveCapacity, StorageGrowth } from '../ingest/document-writer.ts';
import { checkMetadata, checkPath } from '../schemas/checks.ts';
import { checkMetadataTypes } from '../schemas/metadata-schema.ts';
import type { DocumentMetadataJson } from '../schemas/wire.ts';
import type { Blobs, PinnedBlob } from '../storage/blobs.ts';
import type { Collection } from '../storage/collections.ts';
import type { DocumentRecord, Documents } from '../storage/documents.ts';
import type { Metadata } from '../storage/metadata-codec.ts';
import type { WriteOperation } from '../storage/store.ts';

export interface DocumentTargetOptions {
  readonly documents: Pick<Documents, 'get'>;
  readonly blobs: Blobs;
  readonly writer: Pick<DocumentWriter, 'add' | 'remove' | 'updateMetadata'>;
  /** Errors: AppError while the server accepts no documents. */
  readonly admission: { check(organizationId: string): void };
  readonly quotas: {
    reserve(organizationId: string, growth: StorageGrowth): ReturnType<ReserveCapacity>;
  };
  readonly fileBytesMax: number;
  readonly metadataBytesMax: (organizationId: string) => number;
}

/** A document of a source. */
export interface SourceDocument {
  readonly path: string;
  readonly metadata: Metadata;
  /** Whether a document of this path may be replaced. */
  readonly overwrite: boolean;
}

/** Writes the documents of sources, within the limits of their organization. */
export class DocumentTarget {
  readonly #options: DocumentTargetOptions;

  constructor(options: DocumentTargetOptions) {
    this.#options = options;
  }

  find({ collectionId }: Collection, path: string): DocumentRecord | undefined {
    return this.#options.documents.get(collectionId, path);
  }

  /** Errors: `bad_request` for a path or metadata that a document cannot have. */
  check(
    { organizationId, metadataSchema }: Collection,
    { path, metadata }: Omit<SourceDocument, 'overwrite'>,
  ): void {
    checkPath(path);
    checkMetadata(metadata as DocumentMetadataJson, this.#options.metadataBytesMax(organizationId));
    checkMetadataTypes(metadataSchema, metadata);
  }

  /** Stores the bytes of a file. Release the blob afterwards. Errors: `too_large`. */
  async receive(bytes: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<PinnedBlob> {
    const { blobs, fileBytesMax } = this.#options;
    const writer = await blobs.createWriter();
    try {
      for await (const part of bytes) {
        signal.throwIfAborted();
        await writer.write(part);
        if (writer.size > fileBytesMax)
          throw new AppError(
            'too_large',
            `The item is larger than ${formatCount(fileBytesMax, 'byte')} (QUARRY_UPLOAD_BYTES_MAX).`,
          );
      }
      return await writer.finish();
    } finally {
      await writer.abort();
    }
  }

  /** Adds or replaces a document in one write with `operations`. */
  async put(
    collection: Collection,
    { blob, ...document }: SourceDocument & { readonly blob: PinnedBlob },
    operations: readonly WriteOperation[],
  ): Promise<void> {
    const { writer, quotas } = this.#options;
    const input = {
      ...document,
      contentKind: 'auto',
      contentType: 'application/octet-stream',
      rawHash: blob.hash,
      size: blob.size,
      pages: null,
      extraOperations: operations,
    } as const;
    await writer.add(collection, input, undefined, (growth) =>
      quotas.reserve(collection.organizationId, growth),
    );
  }

  /** Releases a blob and deletes its file unless a document refers to it. */
  async release(blob: PinnedBlob): Promise<void> {
    blob.release();
    await this.#options.blobs.deleteIfUnreferenced(blob.hash);
  }

  updateMetadata(collection: Collection, path: string, metadata: Metadata): Promise<void> {
    return this.#options.writer.updateMetadata(collection, path, { metadata });
  }

  /** Deletes a document in one write with `operations`. Returns whether it existed. */
  async remove(
    collection: Collection,
    path: string,
    operations: readonly WriteOperation[],
  ): Promise<boolean> {
    const removed = await this.#options.writer.remove(collection, [path], { extraOperations: operations });
    return removed.length > 0;
  }

  /** Runs `work` when the server accepts documents; repeats it while a queue is full or an allowance is used up. */
  async whenAdmitted<T>(
    { organizationId }: Collection,
    signal: AbortSignal,
    work: () => Promise<T>,
  ): Promise<T> {
    const { retriesMax, retryMs, retryMsMax } = sourceLimits;
    for (let attempt = 1; ; attempt += 1) {
      try {
        this.#options.admission.check(organizationId);
        return await work();
      } catch (error) {
        if (!isTemporary(error) || attempt >= retriesMax) throw error;
        const ms = Math.min(retryMsMax, retryMs * 2 ** (attempt - 1));
        await sleep(Math.max(ms, Math.min(retryMsMax, error.options.retryAfterMs ?? 0)), undefined, {
          signal,
        });
      }
    }
  }
}

function isTemporary(error: unknown): error is AppError {
  if (!(error instanceof AppError) || error.options.shouldRetry === false) return false;
  return ['queue_full', 'reserve_reached', 'unavailable', 'rate_limited'].includes(error.code);
}
