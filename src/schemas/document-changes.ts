import { type Static, Type } from './typebox.ts';
import {
  CollectionName,
  Component,
  type DocumentMetadataJson,
  metadataValueSchemas,
  Nullable,
} from './wire.ts';

/** Requests and replies of operations that change all documents that match a filter. */

const selection = {
  collection_name: CollectionName(),
  filter: Type.Optional(
    Type.Unknown({
      description: 'Only documents whose metadata matches this filter, in the syntax of query filters.',
      examples: [{ author: 'Ada' }],
    }),
  ),
  path_prefix: Type.Optional(
    Nullable(Type.String(), { description: 'Only paths that start with this prefix.' }),
  ),
  limit: Type.Optional(
    Type.Integer({
      default: 1024,
      description:
        'Maximum number of documents to change, 1 to 1,024; repeat the call while `has_more` is true.',
    }),
  ),
  dry_run: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Change nothing; reply with the documents that the call would change.',
    }),
  ),
} as const;

const hasMore = Type.Boolean({
  description: 'Whether the limit was reached and another call would change further documents.',
});
const matchingCount = Type.Optional(
  Type.Integer({
    description: 'Only with `dry_run`: number of documents that a sequence of calls would change.',
  }),
);
const message = Type.Optional(Type.String({ description: 'Message for display, as in other replies.' }));

export const DeleteDocumentsRequest = Component(
  'DeleteDocumentsRequest',
  'Documents to delete: those that match the filter and the prefix. At least one of the two is required.',
  selection,
);
export type DeleteDocumentsRequest = Static<typeof DeleteDocumentsRequest>;

export const DeleteDocumentsResponse = Component(
  'DeleteDocumentsResponse',
  'The documents that were deleted, or with `dry_run` would be.',
  {
    deleted_paths: Type.Array(Type.String(), { description: 'Their paths, in ascending order.' }),
    has_more: hasMore,
    num_matching: matchingCount,
    message,
  },
);
export type DeleteDocumentsResponse = Static<typeof DeleteDocumentsResponse>;

type MetadataPatchValue =
  | Exclude<DocumentMetadataJson[string], object>
  | string[]
  | { lat?: number | null; lon?: number | null }
  | null;

const coordinate = { anyOf: [{ type: 'number' }, { type: 'null' }] };

/** The shape is checked here (422); names and size of the result are checked by `checkMetadata` (400). */
export const MetadataPatch = Type.Unsafe<Record<string, MetadataPatchValue>>({
  title: 'MetadataPatch',
  description:
    'Change to metadata as a JSON merge patch (RFC 7396): a value sets an attribute, null removes it, and other attributes are kept. A list is replaced as a whole; the coordinates of a point can be changed individually.',
  type: 'object',
  additionalProperties: {
    anyOf: [
      ...metadataValueSchemas.filter(({ type }) => type !== 'object'),
      { type: 'null' },
      { type: 'object', properties: { lat: coordinate, lon: coordinate }, additionalProperties: false },
    ],
  },
  examples: [{ author: 'Grace', draft: null }],
});
export type MetadataPatch = Static<typeof MetadataPatch>;

export const UpdateDocumentsRequest = Component(
  'UpdateDocumentsRequest',
  'Documents to update: those that match the filter and the prefix. At least one of the two is required.',
  { ...selection, metadata_patch: MetadataPatch },
);
export type UpdateDocumentsRequest = Static<typeof UpdateDocumentsRequest>;

export const UpdateDocumentsResponse = Component(
  'UpdateDocumentsResponse',
  'The documents that were updated, or with `dry_run` would be, without those that the patch does not change.',
  {
    updated_paths: Type.Array(Type.String(), { description: 'Their paths, in ascending order.' }),
    skipped_paths: Type.Array(Type.String(), {
      description:
        'Up to 1,024 documents that match but are not `indexed`, so their metadata cannot be changed yet. Repeat the call later.',
    }),
    has_more: hasMore,
    num_matching: matchingCount,
    message,
  },
);
export type UpdateDocumentsResponse = Static<typeof UpdateDocumentsResponse>;
