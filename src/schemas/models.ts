import { type Static, Type } from './typebox.ts';
import { Component, Count, Nullable, OneOf } from './wire.ts';

const latencies = ['fast', 'slow'] as const;
export type Latency = (typeof latencies)[number];

const latency = Type.Optional(
  Nullable(OneOf(latencies), {
    description:
      '`fast` is served immediately or returns 429; `slow` has a larger quota and may wait in a queue; absent or null tries `fast`, then `slow`.',
  }),
);
const stringOrStrings = Type.Union([Type.String(), Type.Array(Type.String())], {
  description: 'One text or a list of texts; an empty list gives no results.',
  examples: [['first text', 'second text']],
});
const encodingFormat = Type.Optional(
  OneOf(['float', 'base64'], {
    default: 'float',
    description: '`base64` returns little-endian 32-bit floats in base64, about a quarter of the size.',
  }),
);

export const EmbedRequest = Component('EmbedRequest', 'Texts to embed.', {
  model: Type.String({
    description: 'Model ID; an unknown ID returns 404 with the list.',
    examples: ['zembed-1'],
  }),
  input_type: OneOf(['query', 'document'], {
    description: 'Type of the texts; the vectors differ by type.',
  }),
  input: stringOrStrings,
  dimensions: Type.Optional(
    Nullable(Type.Integer(), {
      description:
        'One of 2560 (default), 1280, 640, 320, 160, 80 or 40. The built-in model computes 320; longer vectors end with zeros.',
      examples: [640],
    }),
  ),
  encoding_format: encodingFormat,
  latency,
});
export type EmbedRequest = Static<typeof EmbedRequest>;

export const embedding = Type.Union([Type.Array(Type.Number()), Type.String()], {
  description: 'A vector of unit length, as numbers or in base64.',
});
export const EmbedResult = Component('EmbedResult', 'One vector.', { embedding });
export type EmbedResult = Static<typeof EmbedResult>;

export const EmbedUsage = Component('EmbedUsage', 'Usage of the call.', {
  total_bytes: Count('Bytes that count against the rate limit: for each text, 150 plus its UTF-8 bytes.'),
  total_tokens: Count('Tokens of all texts.'),
});
export type EmbedUsage = Static<typeof EmbedUsage>;

export const EmbedResponse = Component('EmbedResponse', 'Vectors in the order of the texts.', {
  results: Type.Array(EmbedResult),
  usage: EmbedUsage,
});
export type EmbedResponse = Static<typeof EmbedResponse>;

export const RerankRequest = Component('RerankRequest', 'Texts to rerank by relevance to a query.', {
  model: Type.Optional(
    Nullable(Type.String(), {
      description:
        'Model ID; an unknown ID returns 404 with the list. Absent or null: the default reranker of the server, or `zerank-2` if it has none.',
      examples: ['zerank-2'],
    }),
  ),
  query: Type.String({ description: 'The query.', examples: ['How long do refunds take?'] }),
  top_n: Type.Optional(
    Nullable(Type.Integer(), {
      description: 'Maximum number of results, at least 1; absent or null for all.',
    }),
  ),
  documents: Type.Array(Type.String(), { description: 'The texts.' }),
  latency,
});
export type RerankRequest = Static<typeof RerankRequest>;

export const RerankResult = Component('RerankResult', 'One text with its score.', {
  index: Type.Integer({ description: 'Position in `documents`.' }),
  relevance_score: Type.Number({ description: '0 to 1; depends on the query and this text only.' }),
});
export type RerankResult = Static<typeof RerankResult>;

export const RerankResponse = Component('RerankResponse', 'Scores, best first.', {
  results: Type.Array(RerankResult),
  total_bytes: Count(
    'Bytes that count against the rate limit: for each text, 150 plus the UTF-8 bytes of the query and the text.',
  ),
  total_tokens: Count('Tokens read by the model.'),
  actual_latency_mode: OneOf(latencies, { description: 'Latency mode of the call.' }),
  e2e_latency: Type.Number({ description: 'Seconds from the request to the reply.' }),
  inference_latency: Type.Number({ description: 'Seconds in the model.' }),
});
export type RerankResponse = Static<typeof RerankResponse>;

export const GetModelListRequest = Component('GetModelListRequest', 'Content of the list of models.', {
  include_details: Type.Optional(
    Nullable(Type.Boolean(), { description: 'Whether to return the details of each model.' }),
  ),
});
export type GetModelListRequest = Static<typeof GetModelListRequest>;

const ModelLatency = Component('ModelLatency', 'Latency of the last calls since the server started.', {
  calls: Count('Number of calls, at most 512.'),
  p50_ms: Type.Number({ description: 'Median, in milliseconds.' }),
  p95_ms: Type.Number(),
  p99_ms: Type.Number(),
});

const ModelDetails = Component('ModelDetails', 'A model.', {
  id: Type.String({ examples: ['zembed-1'] }),
  kind: OneOf(['embedding', 'reranker']),
  source: OneOf(['built-in', 'added', 'service'], {
    description: 'Part of the server, added by the operator, or run by another service.',
  }),
  dimensions: Nullable(Type.Integer(), { description: 'Length of its vectors; null for rerankers.' }),
  aliases: Type.Array(Type.String(), { description: 'Other names of the model.' }),
  is_default: Type.Boolean({ description: 'Whether new collections or queries use it by default.' }),
  is_available: Type.Boolean({ description: 'False while requests to its service fail.' }),
  latency: Nullable(ModelLatency, {
    description: 'Of queries and model calls, not of documents; null if there were none.',
  }),
  collection_names: Type.Array(Type.String(), { description: 'Collections whose vectors it computes.' }),
});
export type ModelDetails = Static<typeof ModelDetails>;

export const GetModelListResponse = Component('GetModelListResponse', 'The models that requests can use.', {
  embedding_models: Type.Array(Type.String(), {
    description: 'Names of embedding models, including those added by the operator.',
    examples: [['zembed-1']],
  }),
  rerankers: Type.Array(Type.String(), {
    description: 'Names of rerankers, including those added by the operator.',
    examples: [['zerank-2', 'zerank-1']],
  }),
  default_embedding_model: Type.String({ description: 'Default embedding model of new collections.' }),
  default_reranker: Nullable(Type.String(), {
    description: 'Default reranker of queries; null for none.',
  }),
  chat_model: Nullable(Type.String(), {
    description: 'Model that answers questions; null if answers are disabled.',
  }),
  models: Type.Optional(Type.Array(ModelDetails, { description: 'Only with `include_details`.' })),
});
export type GetModelListResponse = Static<typeof GetModelListResponse>;
