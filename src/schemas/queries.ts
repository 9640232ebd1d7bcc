import { type Static, Type } from './typebox.ts';
import { CollectionName, Component, DocumentMetadataJson, Nullable, OneOf, VectorField } from './wire.ts';

const latencyModes = ['low', 'high'] as const;

const query = Type.String({
  description:
    'The question in natural language, at most 4,096 characters; no character is an operator unless `syntax` says so.',
  examples: ['How long do refunds take?'],
});
const filter = Type.Optional(
  Type.Unknown({
    description:
      'Only documents whose metadata match: `{name: {operator: value}}` with `$eq $ne $gt $gte $lt $lte $in $nin`, joined by `$and` and `$or`. A bare string means `$eq`; null and `{}` mean all.',
    examples: [{ $and: [{ author: 'Ada' }, { 'list:topics': { $in: ['refunds'] } }] }],
  }),
);
const reranker = Type.Optional(
  Nullable(Type.String(), {
    description: 'A model of `/models/rerank` that reorders the best candidates; null for none.',
  }),
);
const latencyMode = Type.Optional(
  OneOf(latencyModes, {
    default: 'low',
    description:
      '`high` searches wider and waits to share work with other calls: better answers and more throughput, later.',
  }),
);
const explain = Type.Optional(
  Type.Boolean({ default: false, description: 'Say how each result was found and what took how long.' }),
);
const queryVector = Type.Optional(
  Nullable(
    VectorField('The vector of the query, in a collection with vectors of your own, whose queries need one.'),
  ),
);
const Weights = Type.Object(
  {
    lexical: Type.Number({ description: 'What the words of a passage count.' }),
    vector: Type.Number({ description: 'What its meaning counts.' }),
  },
  {
    description:
      'What each side counts in the score, by default 1 for words and 0.6 for meaning; neither is negative, and not both are 0. A side that counts 0 is not asked at all.',
    examples: [{ lexical: 1, vector: 0.6 }],
  },
);
const querySyntaxes = ['natural', 'operators'] as const;
const controlFields = {
  weights: Type.Optional(Nullable(Weights)),
  min_score: Type.Optional(
    Nullable(Type.Number(), {
      description:
        '0 to 1: results with a lower `score` are left out, after reranking. Scores compare results of one query only.',
      examples: [0.3],
    }),
  ),
  syntax: Type.Optional(
    OneOf(querySyntaxes, {
      default: 'natural',
      description:
        '`operators`: a `"quoted phrase"` has to stand in the text that is found, a `-word` or `-"phrase"` must not.',
    }),
  ),
};
const maxPerDocument = Type.Optional(
  Nullable(Type.Integer(), {
    description:
      'Of one document at most so many results, 1 or more; the search goes on until there are `k`.',
    examples: [1],
  }),
);
export const QueryDefaults = Component(
  'QueryDefaults',
  'What queries of a collection ask unless they say otherwise.',
  {
    ...controlFields,
    max_per_document: maxPerDocument,
  },
);
export type QueryDefaults = Static<typeof QueryDefaults>;

function resultLimit(noun: string, most: number) {
  return Type.Integer({ description: `At most so many ${noun}, 1 to ${most}.`, examples: [10] });
}

export const TopDocumentsRequest = Component('TopDocumentsRequest', 'A question for documents.', {
  collection_name: CollectionName(),
  query: Nullable(query, {
    description: 'The question; null lists what the filter matches, in no particular order.',
  }),
  query_vector: queryVector,
  k: resultLimit('documents', 2048),
  filter,
  include_metadata: Type.Optional(
    Type.Boolean({ default: false, description: 'Also send the metadata of the documents.' }),
  ),
  reranker,
  latency_mode: latencyMode,
  ...controlFields,
  explain,
});
export type TopDocumentsRequest = Static<typeof TopDocumentsRequest>;

export const TopPagesRequest = Component('TopPagesRequest', 'A question for pages.', {
  collection_name: CollectionName(),
  query,
  query_vector: queryVector,
  k: resultLimit('pages', 1024),
  filter,
  include_content: Type.Optional(
    Type.Boolean({ default: false, description: 'Also send the text of the pages.' }),
  ),
  include_metadata: Type.Optional(
    Type.Boolean({ default: false, description: 'Also send the metadata of the documents.' }),
  ),
  reranker,
  latency_mode: latencyMode,
  ...controlFields,
  max_per_document: maxPerDocument,
  explain,
});
export type TopPagesRequest = Static<typeof TopPagesRequest>;

export const TopSnippetsRequest = Component('TopSnippetsRequest', 'A question for snippets.', {
  collection_name: CollectionName(),
  query,
  query_vector: queryVector,
  k: resultLimit('snippets', 128),
  reranker,
  filter,
  precise_responses: Type.Optional(
    Type.Boolean({ default: false, description: 'Snippets of about 200 characters instead of about 2,000.' }),
  ),
  include_document_metadata: Type.Optional(
    Type.Boolean({ default: false, description: 'Also send the metadata of the documents.' }),
  ),
  latency_mode: latencyMode,
  ...controlFields,
  max_per_document: maxPerDocument,
  explain,
});
export type TopSnippetsRequest = Static<typeof TopSnippetsRequest>;

export const ResultExplanation = Component('ResultExplanation', 'How a result was found.', {
  lexical: Type.Object({
    score: Type.Number({ description: 'BM25 score.' }),
    terms: Type.Array(Type.String(), { description: 'Terms of the query that the text holds.' }),
  }),
  vector: Type.Object({ similarity: Nullable(Type.Number(), { description: 'Cosine of query and text.' }) }),
  fused: Type.Number({ description: 'Score after joining the two.' }),
  rerank: Nullable(Type.Number(), { description: 'Score of the reranker, null without one.' }),
  look: Nullable(
    Type.Object({
      lead: Type.Number({ description: 'Share of the query among the first words of the text.' }),
      order: Type.Number({ description: 'How much of it stands in the order of the query, 0 to 1.' }),
      nearness: Type.Number({ description: 'The largest share of it within 20 words.' }),
    }),
    { description: 'What a second look found (`latency_mode: high`), null without one.' },
  ),
});
export type ResultExplanation = Static<typeof ResultExplanation>;

export const QueryExplanation = Component('QueryExplanation', 'How a query ran.', {
  shards: Type.Array(
    Type.Object({
      shard: Type.Integer(),
      strategy: Type.String({ description: 'How the shard searched, for example `graph` or `scan`.' }),
      effort: Type.Integer({
        description: 'Snippets that the search of the graph kept in view; 0 when it was not searched.',
      }),
      calibrated: Type.Boolean({
        description: 'Whether that was measured on this collection; otherwise it is a careful guess.',
      }),
      candidates: Type.Integer({ description: 'Candidates for the answer that the shard gave.' }),
      ms: Type.Number(),
    }),
  ),
  ms: Type.Object({
    embed: Type.Number(),
    search: Type.Number(),
    rerank: Type.Number(),
    read: Type.Number(),
  }),
  missing: Type.Array(
    Type.Object({
      part: OneOf(['vector', 'rerank']),
      model: Type.String(),
      reason: Type.String({ description: 'Why it does not answer.' }),
    }),
    { description: 'Models that did not answer and that the query did without.' },
  ),
  spelling: Type.Array(
    Type.Object({
      typed: Type.String({ description: 'A word of the query that no document has.' }),
      terms: Type.Array(Type.String(), {
        description: 'Terms of the documents that were looked for instead.',
      }),
      read_as: Type.String({ description: 'What the models read in its place.' }),
    }),
    { description: 'Words that were looked for in another spelling.' },
  ),
  looked_at: Type.Integer({ description: 'Passages that `latency_mode: high` looked at a second time.' }),
  control: Type.Object(
    {
      weights: Weights,
      min_score: Nullable(Type.Number()),
      max_per_document: Nullable(Type.Integer()),
      syntax: OneOf(querySyntaxes),
      phrases: Type.Array(Type.String(), { description: 'What has to stand in the text, as it was typed.' }),
      excluded: Type.Array(Type.String(), { description: 'What must not.' }),
      checked: Type.Integer({ description: 'Passages that were read to keep to all this.' }),
      complete: Type.Boolean({
        description: 'False when the search ended at its limits, so that there may be more to find.',
      }),
    },
    { description: 'What the query asked for beyond its words.' },
  ),
});
export type QueryExplanation = Static<typeof QueryExplanation>;

const resultExplanation = Type.Optional(ResultExplanation);

export const DocumentRetrievalResponse = Component('DocumentRetrievalResponse', 'A document that answers.', {
  path: Type.String(),
  score: Type.Number({ description: 'Relevance within this query, 0 to 1; higher is better.' }),
  metadata: Nullable(DocumentMetadataJson, { description: 'Null unless asked for.' }),
  file_url: Type.String({ description: 'Address of the raw document.' }),
  explain: resultExplanation,
});
export type DocumentRetrievalResponse = Static<typeof DocumentRetrievalResponse>;

export const PageRetrievalResponse = Component('PageRetrievalResponse', 'A page that answers.', {
  path: Type.String(),
  page_index: Type.Integer({ description: 'Counts from 0.' }),
  score: Type.Number({ description: 'Relevance within this query, 0 to 1; higher is better.' }),
  content: Nullable(Type.String(), { description: 'Null unless asked for.' }),
  image_url: Nullable(Type.String(), {
    description: 'Address of a JPEG of the page, null when there is none.',
  }),
  explain: resultExplanation,
});
export type PageRetrievalResponse = Static<typeof PageRetrievalResponse>;

export const SnippetResponse = Component('SnippetResponse', 'A snippet that answers.', {
  path: Type.String(),
  start_index: Type.Integer({
    description: 'First character, counted in code points of the text of the document.',
  }),
  end_index: Type.Integer({ description: 'The character after the last.' }),
  page_span: Type.Array(Type.Integer(), {
    description: 'First page, and the page after the last.',
    minItems: 2,
    maxItems: 2,
    examples: [[0, 1]],
  }),
  content: Type.String({ description: 'Exactly the text between the two indexes.' }),
  score: Type.Number({ description: 'Relevance within this query, 0 to 1; higher is better.' }),
  explain: resultExplanation,
});
export type SnippetResponse = Static<typeof SnippetResponse>;

const queryExplanation = Type.Optional(QueryExplanation);
const warnings = Type.Optional(
  Type.Array(Type.String(), {
    description: 'Sentences that say what the answer had to do without; absent when there is nothing to say.',
  }),
);
const documentResults = Type.Array(DocumentRetrievalResponse, {
  description: 'Each document that a result comes from, once, best first.',
});

export const TopDocumentsResponse = Component('TopDocumentsResponse', 'The best documents, best first.', {
  results: Type.Array(DocumentRetrievalResponse),
  warnings,
  explain: queryExplanation,
});
export type TopDocumentsResponse = Static<typeof TopDocumentsResponse>;

export const TopPagesResponse = Component('TopPagesResponse', 'The best pages, best first.', {
  results: Type.Array(PageRetrievalResponse),
  document_results: documentResults,
  warnings,
  explain: queryExplanation,
});
export type TopPagesResponse = Static<typeof TopPagesResponse>;

export const TopSnippetsResponse = Component('TopSnippetsResponse', 'The best snippets, best first.', {
  results: Type.Array(SnippetResponse),
  document_results: documentResults,
  warnings,
  explain: queryExplanation,
});
export type TopSnippetsResponse = Static<typeof TopSnippetsResponse>;
