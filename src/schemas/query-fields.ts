import { type Static, Type } from './typebox.ts';
import { Component, Nullable } from './wire.ts';

/** Optional fields of query requests, and of their results, that combine, compare or mark. */

export const highlights = Type.Optional(
  Type.Boolean({
    default: false,
    description:
      'Include the positions of the words that match the query in the text of each result; `k` is at most 128.',
  }),
);

export const includeSnippetRectangles = Type.Optional(
  Type.Boolean({
    default: false,
    description:
      'Include the places of the lines of each snippet on the images of its pages. Empty for documents without known lines, such as text files and files that an earlier version parsed.',
  }),
);

export const includePageRectangles = Type.Optional(
  Type.Boolean({
    default: false,
    description:
      'Include the places of the lines with highlighted words on the image of each page; requires `highlights`.',
  }),
);

const edge = (description: string) => Type.Number({ description });

export const LineRectangle = Component(
  'LineRectangle',
  'The place of a line of text on the image of its page.',
  {
    left: edge('Distance of the left edge from that of the image, 0 to 1 of its width.'),
    top: edge('Distance of the upper edge from that of the image, 0 to 1 of its height.'),
    width: edge('0 to 1 of the width of the image.'),
    height: edge('0 to 1 of the height of the image.'),
  },
);
export type LineRectangle = Static<typeof LineRectangle>;

export const PageRectangles = Component('PageRectangles', 'Places of lines of text on one page.', {
  page: Type.Integer({ description: 'Zero-based.' }),
  rectangles: Type.Array(LineRectangle, { description: 'In the order of the text.' }),
});
export type PageRectangles = Static<typeof PageRectangles>;

export const resultRectangles = Type.Optional(
  Type.Array(PageRectangles, {
    description:
      'Places of the lines of the text on the images of its pages, one rectangle per line or table cell; pages without known lines are absent. The first 500 lines. Only with `include_rectangles`.',
    examples: [[{ page: 2, rectangles: [{ left: 0.117, top: 0.0932, width: 0.4613, height: 0.0144 }] }]],
  }),
);

export const collectionNames = Type.Optional(
  Nullable(Type.Array(Type.String()), {
    description:
      'Names or aliases of other collections, at most 15, that are searched together with `collection_name` as one collection. Each counts as a query, and each result names its collection. Their vectors must be of one model.',
    examples: [['handbook-2025']],
  }),
);

export const resultCollection = Type.Optional(
  Type.String({
    description: 'Collection of the result as the request names it; only with `collection_names`.',
  }),
);

export const similarTo = Type.Optional(
  Nullable(
    Type.Object({
      path: Type.String({ description: 'Path of a document of `collection_name`.' }),
      start_index: Type.Optional(
        Type.Integer({
          description:
            'Position in the text of the document, in code points: the snippet at this position is compared instead of the document. For a result, send its `start_index`.',
        }),
      ),
    }),
    {
      description:
        'Find content that is similar to a document or snippet, whose vector replaces that of the query and which is not a result itself. With an empty `query`, only vectors are compared; otherwise the words of `query` count, too.',
      examples: [{ path: 'refunds.md' }],
    },
  ),
);

export const asOf = Type.Optional(
  Nullable(Type.String(), {
    description:
      'Return the results of an earlier moment, in a collection with `history_days`: an RFC 3339 time with an offset, or the `moment` that `explain` of an earlier reply of the collection shows. Not with `collection_names` or `similar_to`; `curations` do not apply.',
    examples: ['2026-03-31T09:00:00Z'],
  }),
);

export const resultVersion = Type.Optional(
  Type.Object(
    {
      document_id: Type.String({
        format: 'uuid',
        description: 'ID of the document at that moment; an overwritten document had another one.',
      }),
      replaced_at: Nullable(Type.String({ format: 'date-time' }), {
        description: 'Time when this version was replaced or deleted; null for one that search still finds.',
      }),
    },
    { description: 'Only with `as_of`: the version of the document.' },
  ),
);

export const searchedMoment = Type.Optional(
  Nullable(Type.String(), {
    description:
      'Only in collections with `history_days`: the moment after the last change of the documents. As `as_of`, it repeats this answer later; changes while the query runs may be in the answer. Null for keys with a document filter.',
  }),
);

export const searchedPast = Type.Optional(
  Nullable(
    Type.Object({
      num_restored_versions: Type.Integer({
        description: 'Versions that were searched although they were replaced or deleted later.',
      }),
      num_hidden_versions: Type.Integer({
        description: 'Versions that were not searched because they are newer.',
      }),
    }),
    { description: 'Only with `as_of`: changes since that moment. Null for keys with a document filter.' },
  ),
);

export const diversity = Type.Optional(
  Nullable(Type.Number(), {
    description:
      '0 to 1: prefer results that differ from those before them (maximal marginal relevance): 0 orders by score only, 1 by difference only. `k` up to 128.',
    examples: [0.3],
  }),
);

export const queries = Type.Optional(
  Nullable(Type.Array(Type.String()), {
    description:
      'Other wordings of the query, or other questions, at most 7. The results of all queries are fused: the score of a result is its mean score. Each counts as a query.',
    examples: [['refund period', 'When is the money returned?']],
  }),
);

export const highlightRanges = Type.Optional(
  Type.Array(Type.Array(Type.Integer(), { minItems: 2, maxItems: 2 }), {
    description:
      'Ranges of `content` with words that match the query: start and end (exclusive), in code points from the start of `content`, in order; the first 100. Only with `highlights`.',
    examples: [[[13, 20]]],
  }),
);
