import { tables, u53, uuid } from './keys.ts';
import { type Metadata, metadataField, namedRecordWithMetadata } from './metadata-codec.ts';
import { hashField, positionalCodec, uuidField } from './positional-codec.ts';
import type { Store, WriteOperation } from './store.ts';
import { contentTypeField } from './stored-choices.ts';
import { Table } from './table.ts';

/** Data of a version shown in a search result, without reading the document. */
export interface VersionRecord {
  readonly collectionId: string;
  readonly version: number;
  readonly documentId: string;
  readonly path: string;
  readonly metadata: Metadata;
  readonly shard: number;
  readonly contentType: string;
  /** SHA-256 of the raw bytes: served by file_url while this version is live. */
  readonly rawHash: string;
  /** Whether pages of this document can be rendered as images. */
  readonly hasImages: boolean;
  /** See `DocumentRecord`. */
  readonly expiresAt?: number;
  /** Raw bytes; only in collections that keep replaced versions. */
  readonly size?: number;
}

type VersionKey = readonly [collectionId: string, version: number];

const versionCodec = positionalCodec<VersionRecord, VersionKey>({
  fieldsOfKey: ([collectionId, version]) => ({ collectionId, version }),
  fields: {
    documentId: uuidField,
    path: null,
    metadata: metadataField,
    shard: null,
    contentType: contentTypeField,
    rawHash: hashField,
    hasImages: null,
    expiresAt: null,
    size: null,
  },
  named: namedRecordWithMetadata<VersionRecord>(),
});

const versionsTable = new Table<VersionKey, VersionRecord>(tables.versions, [uuid, u53], versionCodec);

/** Versions by collection and number. */
export class Versions {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  get(collectionId: string, version: number): VersionRecord | undefined {
    return versionsTable.get(this.#store, [collectionId, version]);
  }

  getMany(collectionId: string, numbers: readonly number[]): (VersionRecord | undefined)[] {
    return versionsTable.getMany(
      this.#store,
      numbers.map((version) => [collectionId, version] as const),
    );
  }

  put(record: VersionRecord): WriteOperation {
    return versionsTable.put([record.collectionId, record.version], record);
  }

  delete(collectionId: string, version: number): WriteOperation {
    return versionsTable.delete([collectionId, version]);
  }

  async *list(collectionId: string): AsyncGenerator<VersionRecord, void, void> {
    for await (const { value } of versionsTable.range(this.#store, [collectionId])) yield value;
  }
}
