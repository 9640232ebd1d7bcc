import { limits } from '../core/limits.ts';
import type { DocumentErrorCode, DocumentIndexStatus } from '../schemas/documents.ts';
import { documentCodec, documentIdCodec } from './document-codec.ts';
import { changeExpiration, listExpired } from './expirations.ts';
import { prefixRange, tables, text, textPrefix, uuid } from './keys.ts';
import type { Metadata } from './metadata-codec.ts';
import type { RangeOptions, Store, WriteOperation } from './store.ts';
import { bytesCodec, Table } from './table.ts';

export type ContentKind = 'text' | 'text-pages' | 'text-pages-unordered' | 'auto';

export interface DocumentError {
  readonly code: DocumentErrorCode;
  /** The message shown to the user. */
  readonly message: string;
  /** True if a retry without a change may succeed. */
  readonly retryable: boolean;
}

/** Record of one path, as shown by info, list and status, with its live version. */
export interface DocumentRecord {
  readonly collectionId: string;
  readonly path: string;
  /** Changes on overwrite, stays on a metadata update. */
  readonly documentId: string;
  readonly version: number;
  /** The version that search returns, or null. */
  readonly live: number | null;
  /** Document id of `live`; during an overwrite, that of the old document. */
  readonly liveDocumentId: string | null;
  readonly status: DocumentIndexStatus;
  readonly error: DocumentError | null;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Raw bytes. */
  readonly size: number;
  readonly numPages: number | null;
  readonly contentKind: ContentKind;
  readonly contentType: string;
  /** SHA-256 of the raw bytes, lower-case hex: the blob served by file_url. */
  readonly rawHash: string;
  readonly metadata: Metadata;
  readonly attempts: number;
  /** Milliseconds since the epoch, from which on the document is treated as nonexistent; absent: never. */
  readonly expiresAt?: number;
  /** UTF-8 bytes of the document's text; 0 until parsed. */
  readonly textBytes: number;
  /** Approximate bytes of the chunk vectors, if vectors were supplied with the document. */
  readonly vectorBytes?: number;
  /** UTF-8 bytes this document adds to num_indexed_bytes: `textBytes` of the live version, else 0. */
  readonly indexedBytes: number;
}

export interface DocumentListOptions {
  /** Only paths that start with this text, by UTF-8 bytes. */
  readonly prefix?: string;
  /** Only paths strictly greater, by UTF-8 bytes. */
  readonly pathGt?: string;
  /** Maximum number of records that are read, including those that `acceptsPath` rejects. */
  readonly limit?: number;
  /** Skips records without decoding them. */
  readonly acceptsPath?: (path: string) => boolean;
}

export type DocumentKey = readonly [collectionId: string, path: string];

const documentsTable = new Table<DocumentKey, DocumentRecord>(tables.documents, [uuid, text], documentCodec);
export const documentIdsTable = new Table<readonly [documentId: string], DocumentKey>(
  tables.documentId,
  [uuid],
  documentIdCodec,
);
/** Index of failed documents, to avoid scanning all documents. */
const failedDocumentsTable = new Table<readonly [collectionId: string, path: string], Uint8Array>(
  tables.failedDocuments,
  [uuid, text],
  bytesCodec,
);
const emptyBytes = new Uint8Array(0);

function hasFailed({ status }: DocumentRecord): boolean {
  return status === 'parsing_failed' || status === 'indexing_failed';
}

/** Documents by collection and path, by id, and an index of those that have failed. */
export class Documents {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  get(collectionId: string, path: string): DocumentRecord | undefined {
    return documentsTable.get(this.#store, [collectionId, path]);
  }

  getMany(collectionId: string, paths: readonly string[]): (DocumentRecord | undefined)[] {
    return documentsTable.getMany(
      this.#store,
      paths.map((path) => [collectionId, path] as const),
    );
  }

  /**
   * Returns the record of a document id while it is the current or the live one; undefined once the document
   * is deleted or replaced.
   */
  findById(documentId: string): DocumentRecord | undefined {
    const key = documentIdsTable.get(this.#store, [documentId]);
    if (key === undefined) return undefined;
    const record = this.get(key[0], key[1]);
    if (record === undefined) return undefined;
    return record.documentId === documentId || record.liveDocumentId === documentId ? record : undefined;
  }

  /**
   * Returns the live versions of documents of a collection that have expired and are not deleted yet, ascending. They
   * are deleted within seconds; of a backlog of more than 10,000 in the installation, only the oldest are found.
   */
  async listExpiredVersions(collectionId: string, now: number): Promise<Float64Array> {
    const expired = await listExpired(this.#store, now, limits.expiredVersionsMax);
    const paths = expired.filter((each) => each.collectionId === collectionId).map(({ path }) => path);
    const versions = this.getMany(collectionId, paths).map((record) => record?.live ?? null);
    return Float64Array.from(versions.filter((version) => version !== null)).sort();
  }

  /** Returns records by path, in the order of UTF-8 bytes. */
  async *list(
    collectionId: string,
    options: DocumentListOptions = {},
  ): AsyncGenerator<DocumentRecord, void, void> {
    const range = listRange(documentsTable.keyOf(collectionId), options);
    const acceptsKey = toKeyCheck(options);
    const entries = documentsTable.range(this.#store, [collectionId], range, acceptsKey);
    for await (const { value } of entries) yield value;
  }

  /** Same for documents that could not be parsed or indexed; the cost depends only on their number. */
  async *listFailed(
    collectionId: string,
    options: DocumentListOptions = {},
  ): AsyncGenerator<DocumentRecord, void, void> {
    const range = listRange(failedDocumentsTable.keyOf(collectionId), options);
    const acceptsKey = toKeyCheck(options);
    for await (const { key } of failedDocumentsTable.range(this.#store, [collectionId], range, acceptsKey)) {
      const record = documentsTable.get(this.#store, key);
      if (record !== undefined && hasFailed(record)) yield record;
    }
  }

  /**
   * Yields operations that add failed documents missing from the index, which earlier builds did not
   * maintain. Write them in batches, while nothing else is written.
   */
  async *listMissingFailures(collectionId: string): AsyncGenerator<WriteOperation, void, void> {
    for await (const record of this.list(collectionId)) {
      const { path } = record;
      const isListed = failedDocumentsTable.get(this.#store, [collectionId, path]) !== undefined;
      if (hasFailed(record) && !isListed) yield failedDocumentsTable.put([collectionId, path], emptyBytes);
    }
  }

  /**
   * Writes a record that replaces `before`, null for a new path, and makes a new document id findable.
   * Include the change of the counts in the same write.
   */
  put(record: DocumentRecord, before: DocumentRecord | null): WriteOperation[] {
    return [
      ...this.update(record, before),
      documentIdsTable.put([record.documentId], [record.collectionId, record.path]),
    ];
  }

  /** Writes a record that replaces `before` and whose document id is already findable. */
  update(record: DocumentRecord, before: DocumentRecord | null): WriteOperation[] {
    const { collectionId, path } = record;
    const written = [documentsTable.put([collectionId, path], record), ...changeExpiration(before, record)];
    const failed = hasFailed(record);
    if (failed === (before !== null && hasFailed(before))) return written;
    const key = [collectionId, path] as const;
    return [
      ...written,
      failed ? failedDocumentsTable.put(key, emptyBytes) : failedDocumentsTable.delete(key),
    ];
  }

  /** Deletes the record and its ids; add the content to the garbage in the same write. */
  delete(record: DocumentRecord): WriteOperation[] {
    const operations = [
      documentsTable.delete([record.collectionId, record.path]),
      this.deleteId(record.documentId),
      ...changeExpiration(record, null),
    ];
    if (hasFailed(record)) operations.push(failedDocumentsTable.delete([record.collectionId, record.path]));
    const live = record.liveDocumentId;
    if (live !== null && live !== record.documentId) operations.push(this.deleteId(live));
    return operations;
  }

  /** Deletes the id of a document that was replaced by an overwrite. */
  deleteId(documentId: string): WriteOperation {
    return documentIdsTable.delete([documentId]);
  }

  /** Rejects the write unless the path is unused when the write is applied. */
  expectAbsent(collectionId: string, path: string): WriteOperation {
    return documentsTable.expect([collectionId, path], (known) => known === undefined, 'the path is unused');
  }

  /**
   * Rejects the write unless the document still has this version (no overwrite, update or deletion) when it
   * is applied.
   */
  expectVersion(collectionId: string, path: string, version: number): WriteOperation {
    return documentsTable.expect(
      [collectionId, path],
      (known) => known?.version === version,
      'the document is unchanged',
    );
  }

  /** Rejects the write unless `holds` returns true for the record when the write is applied. */
  expect(
    collectionId: string,
    path: string,
    holds: (record: DocumentRecord | undefined) => boolean,
    description: string,
  ): WriteOperation {
    return documentsTable.expect([collectionId, path], holds, description);
  }
}

function toKeyCheck({ acceptsPath = () => true }: DocumentListOptions) {
  return ([, path]: readonly [collectionId: string, path: string]) => acceptsPath(path);
}

/** `collection`: the key prefix of its documents, which precedes the path. */
function listRange(collection: Uint8Array, options: DocumentListOptions): RangeOptions {
  const { prefix = '', pathGt, limit } = options;
  const range = prefixRange(Buffer.concat([collection, textPrefix(prefix)]));
  const after = pathGt === undefined ? null : Buffer.concat([collection, text.encode(pathGt)]);
  // The greater of the two starts applies: a path_gt before the prefix must not widen the range.
  const start = after !== null && Buffer.compare(after, range.gte) >= 0 ? { gt: after } : { gte: range.gte };
  return { ...start, lt: range.lt, ...(limit === undefined ? {} : { limit }) };
}
