import { type Static, Type } from './typebox.ts';
import { Component, Nullable, OneOf } from './wire.ts';

/** Requests and replies of Cohere clients. Jina and Voyage clients use the rerank route of version 1. */

const topN = Type.Optional(
  Nullable(Type.Integer(), { description: 'Maximum number of results, at least 1.' }),
);

export const CohereRerankRequest = Component(
  'CohereRerankRequest',
  'Texts to rerank, in the format of Cohere, Jina or Voyage.',
  {
    model: Type.String({ examples: ['zerank-2'] }),
    query: Type.String(),
    documents: Type.Array(
      Type.Union([
        Type.String(),
        Type.Object({ text: Type.Optional(Type.String()) }, { additionalProperties: true }),
      ]),
      { description: 'Texts, or objects with a field `text` or the fields of `rank_fields`.' },
    ),
    top_n: topN,
    top_k: Type.Optional(Nullable(Type.Integer(), { description: 'Voyage: as `top_n`.' })),
    rank_fields: Type.Optional(
      Nullable(Type.Array(Type.String()), {
        description:
          'Cohere: names of the fields of each document that are ranked, in order, 1 to 64. Absent fields are skipped.',
        examples: [['title', 'text']],
      }),
    ),
    return_documents: Type.Optional(
      Nullable(Type.Boolean(), {
        description: 'Include the texts in the reply; absent or null means false.',
      }),
    ),
    truncation: Type.Optional(
      Nullable(Type.Boolean(), { description: 'Voyage: no effect. Long texts are always truncated.' }),
    ),
  },
);
export type CohereRerankRequest = Static<typeof CohereRerankRequest>;

const rerankMeta = Type.Object({
  api_version: Type.Object({ version: Type.String() }),
  billed_units: Type.Object({ search_units: Type.Integer() }),
  tokens: Type.Object({ input_tokens: Type.Integer() }),
});

export const CohereRerankResponse = Component(
  'CohereRerankResponse',
  'Scores, in the format of Cohere, Jina and Voyage.',
  {
    id: Type.String(),
    results: Type.Array(
      Type.Object({
        index: Type.Integer(),
        relevance_score: Type.Number(),
        document: Type.Optional(
          Type.Object({ text: Type.Optional(Type.String()) }, { additionalProperties: true }),
        ),
      }),
      { description: 'Best first. `document` is the object of the request, or `{text}`.' },
    ),
    meta: rerankMeta,
    model: Type.String(),
    object: Type.Literal('list'),
    usage: Type.Object({ total_tokens: Type.Integer() }),
    data: Type.Optional(
      Type.Array(
        Type.Object({
          index: Type.Integer(),
          relevance_score: Type.Number(),
          document: Type.Optional(Type.String()),
        }),
        { description: 'Voyage: the results; only if the request has `top_k` or `truncation`.' },
      ),
    ),
  },
);
export type CohereRerankResponse = Static<typeof CohereRerankResponse>;

export const CohereRerankV2Request = Component(
  'CohereRerankV2Request',
  'Texts to rerank, in the format of version 2 of Cohere.',
  {
    model: Type.String({ examples: ['zerank-2'] }),
    query: Type.String(),
    documents: Type.Array(Type.String(), { description: 'The texts.' }),
    top_n: topN,
  },
);
export type CohereRerankV2Request = Static<typeof CohereRerankV2Request>;

export const CohereRerankV2Response = Component(
  'CohereRerankV2Response',
  'Scores, in the format of version 2 of Cohere.',
  {
    id: Type.String(),
    results: Type.Array(Type.Object({ index: Type.Integer(), relevance_score: Type.Number() })),
    meta: rerankMeta,
  },
);
export type CohereRerankV2Response = Static<typeof CohereRerankV2Response>;

const embeddingTypes = ['float', 'base64'] as const;
export const CohereEmbedRequest = Component(
  'CohereEmbedRequest',
  'Texts to embed, in the format of version 2 of Cohere.',
  {
    model: Type.String({ examples: ['zembed-1'] }),
    input_type: OneOf(['search_document', 'search_query', 'classification', 'clustering'], {
      description: '`search_query` embeds queries; the others embed documents.',
    }),
    texts: Type.Optional(Nullable(Type.Array(Type.String()), { description: 'The texts.' })),
    inputs: Type.Optional(
      Nullable(
        Type.Array(
          Type.Object({
            content: Type.Array(Type.Object({ type: OneOf(['text']), text: Type.String() }), {
              description: 'Parts of the text, joined with line breaks.',
            }),
          }),
        ),
        { description: 'Instead of `texts`: texts in parts.' },
      ),
    ),
    output_dimension: Type.Optional(
      Nullable(Type.Integer(), { description: 'As `dimensions` of `/models/embed`.' }),
    ),
    embedding_types: Type.Optional(
      Nullable(Type.Array(OneOf(embeddingTypes)), { description: 'Default: `["float"]`.' }),
    ),
  },
);
export type CohereEmbedRequest = Static<typeof CohereEmbedRequest>;

export const CohereEmbedResponse = Component(
  'CohereEmbedResponse',
  'Vectors, in the format of version 2 of Cohere.',
  {
    id: Type.String(),
    embeddings: Type.Object({
      float: Type.Optional(Type.Array(Type.Array(Type.Number()))),
      base64: Type.Optional(Type.Array(Type.String())),
    }),
    texts: Type.Array(Type.String(), { description: 'The texts of the request.' }),
    meta: Type.Object({
      api_version: Type.Object({ version: Type.String() }),
      billed_units: Type.Object({ input_tokens: Type.Integer() }),
    }),
    response_type: Type.Literal('embeddings_by_type'),
  },
);
export type CohereEmbedResponse = Static<typeof CohereEmbedResponse>;
