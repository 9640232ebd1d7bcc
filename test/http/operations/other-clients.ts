import Type from 'typebox';
import { readAccess } from './expected-statuses.ts';
import { withBody } from './inputs.ts';
import { type OperationTests, published } from './operation-test.ts';

const OpenAiEmbeddings = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(
    Type.Object({
      object: Type.Literal('embedding'),
      index: Type.Integer(),
      embedding: Type.Union([Type.Array(Type.Number()), Type.String()]),
    }),
  ),
  model: Type.String(),
  usage: Type.Object({ prompt_tokens: Type.Integer(), total_tokens: Type.Integer() }),
});
const CohereRerank = Type.Object({
  id: Type.String(),
  results: Type.Array(
    Type.Object({
      index: Type.Integer(),
      relevance_score: Type.Number(),
      document: Type.Optional(Type.Object({ text: Type.String() })),
    }),
  ),
  meta: Type.Object({}),
});

/** Operations of clients of other services. */
export const otherClientTests = {
  embeddings: {
    expected: readAccess(200, 200),
    buildInput: withBody({ model: 'zembed-1', input: 'granite' }),
    bodyKind: 'model',
    published: published('embeddings', OpenAiEmbeddings),
  },
  'list-openai-models': {
    expected: readAccess(200, 200),
  },
  'get-openai-model': {
    expected: readAccess(200, 200),
  },
  'search-vector-store': {
    expected: readAccess(200),
    buildInput: ({ collection_name }) => ({
      parts: { vector_store_id: collection_name },
      body: { query: 'granite' },
    }),
  },
  'cohere-rerank': {
    expected: readAccess(200, 200),
    buildInput: withBody({ model: 'zerank-1', query: 'a', documents: ['b'] }),
    bodyKind: 'model',
    published: published('rerank', CohereRerank),
  },
  'cohere-rerank-v2': {
    expected: readAccess(200, 200),
    buildInput: withBody({ model: 'zerank-1', query: 'a', documents: ['b'] }),
    bodyKind: 'model',
  },
  'cohere-embed': {
    expected: readAccess(200, 200),
    buildInput: withBody({ model: 'zembed-1', input_type: 'search_query', texts: ['granite'] }),
    bodyKind: 'model',
  },
} satisfies OperationTests;
