import Type from 'typebox';
import { readAccess } from './expected-statuses.ts';
import { withBody } from './inputs.ts';
import { type OperationTests, published } from './operation-test.ts';
import { Nullable, OneOf } from './reply-types.ts';

const RerankResponse = Type.Object({
  results: Type.Array(Type.Object({ index: Type.Integer(), relevance_score: Type.Number() })),
  total_bytes: Type.Integer(),
  total_tokens: Type.Integer(),
  actual_latency_mode: OneOf(['fast', 'slow']),
  e2e_latency: Type.Number(),
  inference_latency: Type.Number(),
});
const EmbedResponse = Type.Object({
  results: Type.Array(Type.Object({ embedding: Type.Union([Type.Array(Type.Number()), Type.String()]) })),
  usage: Type.Object({ total_bytes: Type.Integer(), total_tokens: Type.Integer() }),
});
const ModelDetails = Type.Object({
  id: Type.String(),
  kind: OneOf(['embedding', 'reranker']),
  source: OneOf(['built-in', 'added', 'service']),
  dimensions: Nullable(Type.Integer()),
  aliases: Type.Array(Type.String()),
  is_default: Type.Boolean(),
  is_available: Type.Boolean(),
  latency: Nullable(
    Type.Object({
      calls: Type.Integer(),
      p50_ms: Type.Number(),
      p95_ms: Type.Number(),
      p99_ms: Type.Number(),
    }),
  ),
  collection_names: Type.Array(Type.String()),
});
const GetModelListResponse = Type.Object({
  embedding_models: Type.Array(Type.String()),
  rerankers: Type.Array(Type.String()),
  default_embedding_model: Type.String(),
  default_reranker: Nullable(Type.String()),
  chat_model: Nullable(Type.String()),
  models: Type.Optional(Type.Array(ModelDetails)),
});

/** Operations of models. */
export const modelTests = {
  'get-model-list': {
    expected: readAccess(200, 200),
    published: published('models/get-model-list', GetModelListResponse),
  },
  embed: {
    expected: readAccess(200, 200),
    buildInput: withBody({ model: 'zembed-1', input_type: 'query', input: 'granite' }),
    bodyKind: 'model',
    published: published('models/embed', EmbedResponse),
  },
  rerank: {
    expected: readAccess(200, 200),
    buildInput: withBody({ model: 'zerank-1', query: 'a', documents: ['b'] }),
    bodyKind: 'model',
    published: published('models/rerank', RerankResponse),
  },
} satisfies OperationTests;
