import { facetResponses, queryFacets as facets } from './facets.ts';
import {
  asOf,
  collectionNames,
  diversity,
  highlightRanges,
  highlights,
  includePageRectangles,
  includeSnippetRectangles,
  queries,
  resultCollection,
  resultRectangles,
  resultVersion,
  searchedMoment,
  searchedPast,
  similarTo,
} from './query-fields.ts';
import {
  documentSort,
  groupResponses,
  nextCursor,
  pageFields,
  queryBoost,
  queryGroups,
  querySort,
} from './query-order.ts';
import { type Static, Type } from './typebox.ts';
import { CollectionName, Component, DocumentMetadataJson, Nullable, OneOf, VectorField } from './wire.ts';

const latencyModes = ['low', 'high'] as const;

const query = Type.String({
  description:
    'The query in natural language, at most 4,096 characters. No character is an operator unless `syntax` is `operators`.',
  examples: ['How long do refunds take?'],
});
const filter = Type.Optional(
  Type.Unknown({
    description:
      'Filter on document metadata: `{name: {operator: value}}` with `$eq $ne $gt $gte $lt $lte $in $nin $exists $prefix $between $contains $geo_radius $geo_box`, combined with `$and`, `$or` and `$not`. A plain value means `$eq`, and a date is `{"$date": "2026-03-31"}`; values match operands of their type only; null and `{}` match all documents.',
    examples: [{ $and: [{ author: 'Ada' }, { 'list:topics': { $in: ['refunds'] } }] }],
  }),
);
const reranker = Type.Optional(
  Nullable(Type.String(), {
    description: 'Reranker of `/models/rerank` that reorders the best candidates; null for none.',
  }),
);
const latencyMode = Type.Optional(
  OneOf(latencyModes, {
    default: 'low',
    description:
      '`high` examines more candidates and batches work with other calls: better results and throughput at higher latency.',
  }),
);
const explain = Type.Optional(
  Type.Boolean({ default: false, description: 'Include scores, timings and the search strategy.' }),
);
const queryVector = Type.Optional(
  Nullable(VectorField('The vector of the query.'), {
    description: 'The vector of the query; required in collections whose `embedding_model` is `own`.',
  }),
);
const weightsDescription =
  'Weights of the lexical and the vector score, default 1 and 0.6. Not negative, and not both 0. A search with weight 0 is skipped.';
const Weights = Type.Object(
  {
    lexical: Type.Number({ description: 'Weight of the lexical score.' }),
    vector: Type.Number({ description: 'Weight of the vector score.' }),
  },
  {
    description: weightsDescription,
    examples: [{ lexical: 1, vector: 0.6 }],
  },
);
const querySyntaxes = ['natural', 'operators'] as const;
const controlFields = {
  weights: Type.Optional(Nullable(Weights, { description: weightsDescription })),
  min_score: Type.Optional(
    Nullable(Type.Number(), {
      description:
        '0 to 1: results with a lower `score` are omitted, after reranking. Scores are comparable within one query only.',
      examples: [0.3],
    }),
  ),
  syntax: Type.Optional(
    OneOf(querySyntaxes, {
      default: 'natural',
      description:
        '`operators`: results must contain each `"quoted phrase"` and must not contain a `-word` or `-"phrase"`.',
    }),
  ),
};
const maxPerDocument = Type.Optional(
  Nullable(Type.Integer(), {
    description:
      'Maximum results per document, at least 1. The search continues until there are `k` results.',
    examples: [1],
  }),
);
export const QueryDefaults = Component('QueryDefaults', 'Default query options of a collection.', {
  ...controlFields,
  max_per_document: maxPerDocument,
});
export type QueryDefaults = Static<typeof QueryDefaults>;

function resultLimit(noun: string, most: number) {
  return Type.Integer({ description: `Maximum number of ${noun}, 1 to ${most}.`, examples: [10] });
}

export const TopDocumentsRequest = Component('TopDocumentsRequest', 'A query for documents.', {
  collection_name: CollectionName(),
  collection_names: collectionNames,
  query: Nullable(query, {
    description:
      'The query; null lists the documents that match the filter, in the order of `sort` or no particular order.',
  }),
  queries,
  similar_to: similarTo,
  diversity,
  query_vector: queryVector,
  k: resultLimit('documents', 2048),
  filter,
  facets,
  sort: documentSort,
  boost: queryBoost,
  group_by: queryGroups,
  ...pageFields,
  as_of: asOf,
  include_metadata: Type.Optional(
    Type.Boolean({ default: false, description: 'Include the metadata of the documents.' }),
  ),
  reranker,
  latency_mode: latencyMode,
  ...controlFields,
  explain,
});
export type TopDocumentsRequest = Static<typeof TopDocumentsRequest>;

export const TopPagesRequest = Component('TopPagesRequest', 'A query for pages.', {
  collection_name: CollectionName(),
  collection_names: collectionNames,
  query,
  queries,
  similar_to: similarTo,
  diversity,
  query_vector: queryVector,
  k: resultLimit('pages', 1024),
  filter,
  facets,
  sort: querySort,
  boost: queryBoost,
  group_by: queryGroups,
  ...pageFields,
  as_of: asOf,
  include_content: Type.Optional(
    Type.Boolean({ default: false, description: 'Include the text of the pages.' }),
  ),
  highlights,
  include_rectangles: includePageRectangles,
  include_metadata: Type.Optional(
    Type.Boolean({ default: false, description: 'Include the metadata of the documents.' }),
  ),
  reranker,
  latency_mode: latencyMode,
  ...controlFields,
  max_per_document: maxPerDocument,
  explain,
});
export type TopPagesRequest = Static<typeof TopPagesRequest>;

export const TopSnippetsRequest = Component('TopSnippetsRequest', 'A query for snippets.', {
  collection_name: CollectionName(),
  collection_names: collectionNames,
  query,
  queries,
  similar_to: similarTo,
  diversity,
  query_vector: queryVector,
  k: resultLimit('snippets', 128),
  reranker,
  filter,
  facets,
  sort: querySort,
  boost: queryBoost,
  group_by: queryGroups,
  ...pageFields,
  as_of: asOf,
  precise_responses: Type.Optional(
    Type.Boolean({ default: false, description: 'Snippets of about 200 characters instead of about 2,000.' }),
  ),
  highlights,
  include_rectangles: includeSnippetRectangles,
  include_document_metadata: Type.Optional(
    Type.Boolean({ default: false, description: 'Include the metadata of the documents.' }),
  ),
  latency_mode: latencyMode,
  ...controlFields,
  max_per_document: maxPerDocument,
  explain,
});
export type TopSnippetsRequest = Static<typeof TopSnippetsRequest>;

export const ResultExplanation = Component('ResultExplanation', 'Explanation of a result.', {
  lexical: Type.Object({
    score: Type.Number({ description: 'BM25 score.' }),
    terms: Type.Array(Type.String(), { description: 'Words of the query that the text contains.' }),
    words: Type.Array(Type.Array(Type.String()), {
      description: 'For each of `terms`, the words of the text that match it, as written.',
      examples: [[['refund', 'Refunds']]],
    }),
  }),
  vector: Type.Object({
    similarity: Nullable(Type.Number(), { description: 'Cosine similarity of query and text.' }),
  }),
  fused: Type.Number({ description: 'Score after fusion of both.' }),
  rerank: Nullable(Type.Number(), { description: 'Score of the reranker; null without a reranker.' }),
  relevance: Nullable(Type.Number(), {
    description:
      'Relevance of the text to the query, 0 to 1, comparable between queries: score of the built-in reranker for the first 10 results; null for others.',
  }),
  look: Nullable(
    Type.Object({
      lead: Type.Number({ description: 'Share of query terms in the first words of the text.' }),
      order: Type.Number({ description: 'Share of query terms in the order of the query, 0 to 1.' }),
      nearness: Type.Number({ description: 'Largest share of query terms within 20 words.' }),
    }),
    { description: 'Term proximity used for rescoring (`latency_mode: high`); null otherwise.' },
  ),
  boost: Type.Optional(
    Type.Number({ description: 'Only with `boost`: the factor by which `score` was multiplied.' }),
  ),
  pinned: Type.Optional(
    Type.Boolean({ description: 'True for a result that `curations` of the collection pinned.' }),
  ),
  version: resultVersion,
});
export type ResultExplanation = Static<typeof ResultExplanation>;

export const QueryExplanation = Component('QueryExplanation', 'Explanation of a query.', {
  shards: Type.Array(
    Type.Object({
      shard: Type.Integer(),
      strategy: Type.String({ description: 'Search strategy of the shard, for example `graph` or `scan`.' }),
      effort: Type.Integer({
        description: 'Candidate list size of the graph search (ef); 0 if the graph was not searched.',
      }),
      calibrated: Type.Boolean({
        description:
          'Whether the value was measured on this collection; otherwise it is a conservative estimate.',
      }),
      candidates: Type.Integer({ description: 'Number of candidates returned by the shard.' }),
      ms: Type.Number(),
    }),
  ),
  ms: Type.Object({
    embed: Type.Number(),
    search: Type.Number(),
    rerank: Type.Number({ description: 'Includes the measurement of `relevance`.' }),
    read: Type.Number(),
  }),
  missing: Type.Array(
    Type.Object({
      part: OneOf(['vector', 'rerank']),
      model: Type.String(),
      reason: Type.String({ description: 'Reason for the failure.' }),
    }),
    { description: 'Unavailable models that the query did not use.' },
  ),
  spelling: Type.Array(
    Type.Object({
      typed: Type.String({ description: 'A word of the query that occurs in no document.' }),
      terms: Type.Array(Type.String(), {
        description: 'Terms of the documents that were searched instead.',
      }),
      read_as: Type.String({ description: 'Replacement in the text that models read.' }),
    }),
    { description: 'Spelling corrections.' },
  ),
  good_match: Nullable(Type.Boolean(), {
    description:
      'Whether one of the first 10 results has a `relevance` of at least 0.5. False: the collection probably has no answer. Null if relevance was not measured.',
  }),
  looked_at: Type.Integer({ description: 'Number of snippets that `latency_mode: high` rescored.' }),
  control: Type.Object(
    {
      weights: Weights,
      min_score: Nullable(Type.Number()),
      max_per_document: Nullable(Type.Integer()),
      syntax: OneOf(querySyntaxes),
      phrases: Type.Array(Type.String(), { description: 'Required phrases, as entered.' }),
      excluded: Type.Array(Type.String(), { description: 'Excluded words and phrases.' }),
      checked: Type.Integer({ description: 'Number of snippets read to check the operators.' }),
      complete: Type.Boolean({
        description: 'False if the search stopped at its limits; more results may exist.',
      }),
    },
    { description: 'Options and operators that applied to the query.' },
  ),
  moment: searchedMoment,
  past: searchedPast,
});
export type QueryExplanation = Static<typeof QueryExplanation>;

const resultExplanation = Type.Optional(ResultExplanation);

export const DocumentRetrievalResponse = Component('DocumentRetrievalResponse', 'A document result.', {
  path: Type.String(),
  score: Type.Number({ description: 'Relevance within this query, 0 to 1; higher is better.' }),
  metadata: Nullable(DocumentMetadataJson, { description: 'Null unless requested.' }),
  file_url: Type.String({ description: 'URL of the raw document.' }),
  collection_name: resultCollection,
  explain: resultExplanation,
});
export type DocumentRetrievalResponse = Static<typeof DocumentRetrievalResponse>;

export const PageRetrievalResponse = Component('PageRetrievalResponse', 'A page result.', {
  path: Type.String(),
  page_index: Type.Integer({ description: 'Zero-based.' }),
  score: Type.Number({ description: 'Relevance within this query, 0 to 1; higher is better.' }),
  content: Nullable(Type.String(), { description: 'Null unless requested.' }),
  image_url: Nullable(Type.String(), {
    description: 'URL of a JPEG of the page; null if there is none.',
  }),
  collection_name: resultCollection,
  highlights: highlightRanges,
  page_rectangles: resultRectangles,
  explain: resultExplanation,
});
export type PageRetrievalResponse = Static<typeof PageRetrievalResponse>;

export const SnippetResponse = Component('SnippetResponse', 'A snippet result.', {
  path: Type.String(),
  start_index: Type.Integer({
    description: 'Start offset in the text of the document, in code points.',
  }),
  end_index: Type.Integer({ description: 'End offset (exclusive).' }),
  page_span: Type.Array(Type.Integer(), {
    description: 'Range of pages: first page, and end page (exclusive).',
    minItems: 2,
    maxItems: 2,
    examples: [[0, 1]],
  }),
  content: Type.String({ description: 'Exactly the text between the two indexes.' }),
  score: Type.Number({ description: 'Relevance within this query, 0 to 1; higher is better.' }),
  collection_name: resultCollection,
  highlights: highlightRanges,
  page_rectangles: resultRectangles,
  explain: resultExplanation,
});
export type SnippetResponse = Static<typeof SnippetResponse>;

const queryExplanation = Type.Optional(QueryExplanation);
const warnings = Type.Optional(
  Type.Array(Type.String(), {
    description: 'Warnings about missing parts of the result; absent if there are none.',
  }),
);
const documentResults = Type.Array(DocumentRetrievalResponse, {
  description: 'The documents of the results, each once, best first.',
});

/** Fields after the results of all kinds of queries. */
const replyDetails = {
  next_cursor: nextCursor,
  groups: groupResponses,
  facets: facetResponses,
  warnings,
  explain: queryExplanation,
} as const;

export const TopDocumentsResponse = Component('TopDocumentsResponse', 'The best documents, best first.', {
  results: Type.Array(DocumentRetrievalResponse),
  ...replyDetails,
});
export type TopDocumentsResponse = Static<typeof TopDocumentsResponse>;

export const TopPagesResponse = Component('TopPagesResponse', 'The best pages, best first.', {
  results: Type.Array(PageRetrievalResponse),
  document_results: documentResults,
  ...replyDetails,
});
export type TopPagesResponse = Static<typeof TopPagesResponse>;

export const TopSnippetsResponse = Component('TopSnippetsResponse', 'The best snippets, best first.', {
  results: Type.Array(SnippetResponse),
  document_results: documentResults,
  ...replyDetails,
});
export type TopSnippetsResponse = Static<typeof TopSnippetsResponse>;
