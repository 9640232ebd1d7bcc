import { Type } from './typebox.ts';
import { Component, Nullable, OneOf } from './wire.ts';

/** Order of results and of lists by metadata. */

const sortOrders = ['asc', 'desc'] as const;

export const SortField = Component('SortField', 'One level of an order by metadata.', {
  field: Type.String({ description: 'Name of a metadata field; not a list.', examples: ['year'] }),
  order: Type.Optional(
    OneOf(sortOrders, {
      default: 'asc',
      description: 'Ascending or descending. Documents without a value come last in both.',
    }),
  ),
  type: Type.Optional(
    OneOf(['date'], {
      description:
        '`date`: order dates by their instants. Default for fields that the `metadata_schema` declares as dates. Other values count as missing.',
    }),
  ),
});

const sortExamples = [[{ field: 'year', order: 'desc' }]];
const orderOfValues =
  'Strings are ordered by their UTF-8 bytes, before numbers, which are before booleans; documents without a value, and points, come last. At most 4 fields.';

/** Order of the results of a query. */
export const querySort = Type.Optional(
  Nullable(Type.Array(SortField), {
    description: `Orders the best results of the query (100, or \`k\` if that is more) by metadata and returns the first \`k\`. Ties are ordered by score. ${orderOfValues}`,
    examples: sortExamples,
  }),
);

/** Order of the documents of a query, which may be a listing. */
export const documentSort = Type.Optional(
  Nullable(Type.Array(SortField), {
    description: `Orders documents by metadata and returns the first \`k\`. With a query, only its best documents are ordered (100, or \`k\` if that is more), and ties are ordered by score. Without a query, all documents that match the filter are ordered. ${orderOfValues}`,
    examples: sortExamples,
  }),
);

/** Order of a list of documents. */
export const listSort = Type.Optional(
  Nullable(Type.Array(SortField), {
    description: `Orders documents by metadata, instead of \`sort_by\`; ties are ordered by path. Reads the whole collection for each page. The reply then contains \`next_cursor\`. ${orderOfValues}`,
    examples: sortExamples,
  }),
);

export const RecencyBoost = Component('RecencyBoost', 'Preference for recent documents.', {
  field: Type.String({ description: 'Metadata field with RFC 3339 dates.', examples: ['published'] }),
  half_life: Type.String({
    description:
      'Age at which the factor is one half: a number with the unit `s`, `m`, `h`, `d`, `w` or `y`.',
    examples: ['30d'],
  }),
  weight: Type.Optional(
    Nullable(Type.Number(), {
      description:
        '0 to 1, default 1: share of the score that decays. The factor is never below 1 - `weight`.',
    }),
  ),
  origin: Type.Optional(
    Nullable(Type.String(), {
      description: 'RFC 3339 date from which ages are measured; default: the time of the query.',
    }),
  ),
});

export const queryBoost = Type.Optional(
  Nullable(RecencyBoost, {
    description:
      'Multiplies the score of each of the best results of the query (100, or `k` if that is more) by `1 - weight + weight * 0.5 ^ (age / half_life)` and orders them by the product. `min_score` applies to the product. Dates after the origin have the age 0; documents without a date are infinitely old.',
    examples: [{ field: 'published', half_life: '30d', weight: 0.5 }],
  }),
);

export const GroupBy = Component('GroupBy', 'Grouping of results by metadata.', {
  field: Type.String({ description: 'Name of a metadata field; not a list.', examples: ['author'] }),
  size: Type.Optional(
    Nullable(Type.Integer(), { description: 'Maximum number of results of a group, 1 to 10; default 3.' }),
  ),
});

export const queryGroups = Type.Optional(
  Nullable(GroupBy, {
    description:
      'Groups the best results of the query (100, or `k` if that is more) by the value of a field. `k` is then the maximum number of groups. Results of one group are adjacent, groups are in the order of their first results, and `groups` of the reply has the size of each. Results without a value are one group.',
    examples: [{ field: 'author', size: 2 }],
  }),
);

export const ResultGroup = Component('ResultGroup', 'Results with the same value of a field.', {
  value: Nullable(Type.Union([Type.String(), Type.Number(), Type.Boolean()]), {
    description: 'Null for results without a value.',
  }),
  results: Type.Integer({
    description: 'Number of its results. In `results`, they follow those of the previous groups.',
  }),
});

export const groupResponses = Type.Optional(
  Type.Array(ResultGroup, { description: 'Only with `group_by`: in the order of `results`.' }),
);

/** Pages of the results of a query. */
export const pageFields = {
  cursor: Type.Optional(
    Nullable(Type.String(), {
      description:
        'The `next_cursor` of the previous page, with the same other fields. Pages end at the maximum of `k`; with `sort` or `boost`, at the results that are ordered.',
    }),
  ),
  include_cursor: Type.Optional(
    Type.Boolean({ default: false, description: 'Return `next_cursor`; implied by `cursor`.' }),
  ),
};

export const nextCursor = Type.Optional(
  Nullable(Type.String(), {
    description:
      'Only with `cursor` or `include_cursor`: the `cursor` of the next page; null after the last page.',
  }),
);
