import type { CollectionInfo } from '../../schemas/collections.ts';

/** A file of a document to be imported. */
export interface ImportFile {
  /** Bytes. */
  readonly size: number;
  /** Yields the bytes; called at most once, before the next item is requested. */
  readonly read: () => AsyncIterable<Uint8Array>;
}

/** A document to be imported. */
export interface ImportItem {
  /** Where it comes from, for messages: "line 4". */
  readonly origin: string;
  readonly path: string;
  /** Fields of `add-documents` except `overwrite`; `content` is without the file. */
  readonly document: Readonly<Record<string, unknown>>;
  /** SHA-256 of the raw document; null if it is unknown. */
  readonly sha256: string | null;
  /** Null for a text. */
  readonly file: ImportFile | null;
  /** Whether it could not be parsed or indexed by the system that it comes from. */
  readonly mayFail?: boolean;
  /** Approximate characters of the JSON of `document`. */
  readonly units: number;
}

/** An item that cannot be imported, with the reason. */
export interface SkippedItem {
  readonly origin: string;
  readonly path: string | null;
  readonly reason: string;
}

/** Settings of a collection that is created for an import. */
export type CollectionSettings = Pick<CollectionInfo, 'num_shards' | 'embedding_model' | 'dimensions'> &
  Partial<
    Pick<
      CollectionInfo,
      | 'query_defaults'
      | 'default_ttl_seconds'
      | 'metadata_schema'
      | 'synonyms'
      | 'stop_words'
      | 'curations'
      | 'history_days'
    >
  >;

/** Documents from a file or another system. */
export interface ImportSource {
  /** Number of documents; null if it is unknown. */
  readonly total: number | null;
  /** Whether the documents are in ascending order of their paths, by UTF-8 bytes. */
  readonly isSorted: boolean;
  /** Settings for a new collection; null for the defaults of the server. */
  readonly settings: CollectionSettings | null;
  /** Yields all documents. `skip` is called for each item that cannot be imported. */
  items(skip: (item: SkippedItem) => void): AsyncGenerator<ImportItem, void, void>;
}
