import Type from 'typebox';
import { readAccess } from './expected-statuses.ts';
import { inCollection } from './inputs.ts';
import { type OperationTests, published } from './operation-test.ts';
import { Metadata, Nullable } from './reply-types.ts';

/** Additive: only with `explain: true`. */
const explainedFields = {
  explain: Type.Optional(
    Type.Object({
      lexical: Type.Object({ score: Type.Number(), terms: Type.Array(Type.String()) }),
      vector: Type.Object({ similarity: Nullable(Type.Number()) }),
      fused: Type.Number(),
      rerank: Nullable(Type.Number()),
    }),
  ),
};
const shardExplanation = {
  explain: Type.Optional(
    Type.Object({
      shards: Type.Array(
        Type.Object({
          shard: Type.Integer(),
          strategy: Type.String(),
          candidates: Type.Integer(),
          ms: Type.Number(),
        }),
      ),
      ms: Type.Object({
        embed: Type.Number(),
        search: Type.Number(),
        rerank: Type.Number(),
        read: Type.Number(),
      }),
    }),
  ),
};
const DocumentRetrievalResponse = Type.Object({
  path: Type.String(),
  score: Type.Number(),
  metadata: Nullable(Metadata),
  file_url: Type.String(),
  ...explainedFields,
});
const TopDocumentsResponse = Type.Object({
  results: Type.Array(DocumentRetrievalResponse),
  ...shardExplanation,
});
const TopPagesResponse = Type.Object({
  results: Type.Array(
    Type.Object({
      path: Type.String(),
      page_index: Type.Integer(),
      score: Type.Number(),
      content: Nullable(Type.String()),
      image_url: Nullable(Type.String()),
      ...explainedFields,
    }),
  ),
  document_results: Type.Array(DocumentRetrievalResponse),
  ...shardExplanation,
});
const TopSnippetsResponse = Type.Object({
  results: Type.Array(
    Type.Object({
      path: Type.String(),
      start_index: Type.Integer(),
      end_index: Type.Integer(),
      page_span: Type.Tuple([Type.Integer(), Type.Integer()]),
      content: Type.String(),
      score: Type.Number(),
      ...explainedFields,
    }),
  ),
  document_results: Type.Array(DocumentRetrievalResponse),
  ...shardExplanation,
});

const SuggestResponse = Type.Object({
  suggestions: Type.Array(Type.Object({ query: Type.String(), num_documents: Type.Integer() })),
});

/** Operations of queries. */
export const queryTests = {
  'top-documents': {
    expected: readAccess(200),
    buildInput: inCollection({ query: 'granite', k: 3 }),
    published: published('queries/top-documents', TopDocumentsResponse),
  },
  'top-pages': {
    expected: readAccess(200),
    buildInput: inCollection({ query: 'granite', k: 3 }),
    published: published('queries/top-pages', TopPagesResponse),
  },
  'top-snippets': {
    expected: readAccess(200),
    buildInput: inCollection({ query: 'granite', k: 3, explain: true }),
    published: published('queries/top-snippets', TopSnippetsResponse),
  },
  suggest: {
    expected: readAccess(200),
    buildInput: inCollection({ query: 'gran', limit: 3 }),
    published: published('queries/suggest', SuggestResponse),
  },
} satisfies OperationTests;
