import { indexStatuses } from '../schemas/documents.ts';
import type { ContentKind, DocumentKey, DocumentRecord } from './documents.ts';
import { metadataField, namedRecordWithMetadata } from './metadata-codec.ts';
import { choiceField, hashField, positionalCodec, uuidField } from './positional-codec.ts';
import { contentTypeField } from './stored-choices.ts';
import { recordCodec, type ValueCodec } from './table.ts';

/** Bytes of document records. */
export const documentCodec = positionalCodec<DocumentRecord, DocumentKey>({
  fieldsOfKey: ([collectionId, path]) => ({ collectionId, path }),
  fields: {
    documentId: uuidField,
    version: null,
    live: null,
    liveDocumentId: {
      // True: that of the record, as in all states but an overwrite.
      encode(id, { documentId }) {
        if (id === documentId) return true;
        return id === null ? null : uuidField.encode(id);
      },
      decode(stored, { documentId }) {
        if (stored === true) return documentId;
        return stored === null ? null : uuidField.decode(stored);
      },
    },
    status: choiceField(indexStatuses),
    error: null,
    createdAt: null,
    size: null,
    numPages: null,
    contentKind: choiceField<ContentKind>(['text', 'text-pages', 'text-pages-unordered', 'auto']),
    contentType: contentTypeField,
    rawHash: hashField,
    metadata: metadataField,
    attempts: null,
    textBytes: null,
    indexedBytes: null,
    expiresAt: null,
    vectorBytes: null,
  },
  named: namedRecordWithMetadata<DocumentRecord>(),
});

const pairCodec = recordCodec<readonly [collectionId: unknown, path: string]>();

/** Bytes of the key of a document. */
export const documentIdCodec: ValueCodec<DocumentKey> = {
  encode: ([collectionId, path]) => pairCodec.encode([uuidField.encode(collectionId), path]),
  decode(bytes) {
    const [collectionId, path] = pairCodec.decode(bytes);
    return [uuidField.decode(collectionId), path];
  },
};
