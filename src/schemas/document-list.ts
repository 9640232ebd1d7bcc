import { documentSortFields } from '../core/document-sort-fields.ts';
import { DocumentIndexStatus, DocumentMetadataResponse } from './documents.ts';
import { facetResponses, listFacets } from './facets.ts';
import { listSort } from './query-order.ts';
import { type Static, Type } from './typebox.ts';
import { CollectionName, Component, Nullable, OneOf, Timestamp } from './wire.ts';

/** Request and reply of the list of documents. */

const documentListFilters = {
  path_contains: Type.Optional(
    Nullable(Type.String(), {
      description: 'Only paths that contain this text, case-insensitive.',
    }),
  ),
  index_statuses: Type.Optional(
    Nullable(Type.Array(DocumentIndexStatus), { description: 'Only documents with one of these states.' }),
  ),
  extensions: Type.Optional(
    Nullable(Type.Array(Type.String()), {
      description:
        'Only paths that end with one of these file name extensions, without the dot, case-insensitive. Up to 64.',
      examples: [['pdf', 'docx']],
    }),
  ),
  created_at_gte: Type.Optional(
    Nullable(Timestamp('Only documents added or last overwritten at this time or later.')),
  ),
  created_at_lt: Type.Optional(
    Nullable(Timestamp('Only documents added or last overwritten before this time.')),
  ),
  sort_by: Type.Optional(
    Nullable(OneOf(documentSortFields), {
      description:
        'Order of the documents; documents with equal values are ordered by path. Values other than `path` read the whole collection for each page. The reply then contains `next_cursor`.',
    }),
  ),
  descending: Type.Optional(Type.Boolean({ default: false, description: 'Reverse the order of `sort_by`.' })),
  sort: listSort,
  cursor: Type.Optional(
    Nullable(Type.String(), {
      description:
        'The `next_cursor` of the previous page, with the same `sort_by` and `descending`, or the same `sort`.',
    }),
  ),
  include_count: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'Return the number of matching documents as `num_matching`. This reads the whole collection.',
    }),
  ),
  facets: listFacets,
} as const;

export const GetDocumentInfoListRequest = Component(
  'GetDocumentInfoListRequest',
  'Page of the list of documents.',
  {
    collection_name: CollectionName(),
    limit: Type.Optional(
      Type.Integer({ default: 1024, description: 'Maximum number of documents, 1 to 1,024.' }),
    ),
    path_prefix: Type.Optional(
      Nullable(Type.String(), { description: 'Only paths that start with this prefix.' }),
    ),
    path_gt: Type.Optional(
      Nullable(Type.String(), {
        description:
          'Only paths after this path: send the last path of the previous page. A query string parameter with this name takes precedence.',
      }),
    ),
    only_failed: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Only documents that failed. The cost is proportional to their number.',
      }),
    ),
    ...documentListFilters,
  },
);
export type GetDocumentInfoListRequest = Static<typeof GetDocumentInfoListRequest>;

export const GetDocumentInfoListResponse = Component(
  'GetDocumentInfoListResponse',
  'Documents in ascending order of their paths, or in the order of `sort_by` or `sort`.',
  {
    documents: Type.Array(DocumentMetadataResponse, { description: 'Empty if there are no more.' }),
    next_cursor: Type.Optional(
      Nullable(Type.String(), {
        description: 'Only with `sort_by` or `sort`: the `cursor` of the next page; null on the last page.',
      }),
    ),
    num_matching: Type.Optional(
      Type.Integer({
        description: 'Only with `include_count`: number of documents that match, on all pages.',
      }),
    ),
    facets: facetResponses,
  },
);
export type GetDocumentInfoListResponse = Static<typeof GetDocumentInfoListResponse>;
