import { embedding } from './models.ts';
import { type Static, Type } from './typebox.ts';
import { Component, type DocumentMetadataJson, metadataValueSchemas, Nullable, OneOf } from './wire.ts';

/** Requests and replies of OpenAI clients. Jina and Voyage clients use the same route for embeddings. */

const textInput = Type.Union([Type.String(), Type.Object({ text: Type.String() })]);

export const OpenAiEmbeddingsRequest = Component(
  'OpenAiEmbeddingsRequest',
  'Texts to embed, in the format of OpenAI, Jina or Voyage.',
  {
    model: Type.String({ examples: ['zembed-1'] }),
    input: Type.Union([Type.String(), Type.Array(textInput)], {
      description:
        'One text or a list of texts, or of objects with a field `text`; an empty list gives no results.',
      examples: [['first text', 'second text']],
    }),
    dimensions: Type.Optional(Nullable(Type.Integer(), { description: 'As in `/models/embed`.' })),
    encoding_format: Type.Optional(
      Nullable(OneOf(['float', 'base64']), {
        description:
          '`base64` returns little-endian 32-bit floats in base64, about a quarter of the size. Default: `float`.',
      }),
    ),
    input_type: Type.Optional(
      Nullable(OneOf(['query', 'document']), {
        description: 'Type of the texts; absent or null means `document`.',
      }),
    ),
    task: Type.Optional(
      Nullable(Type.String(), {
        description: 'Jina: `retrieval.query` embeds queries; other tasks embed documents.',
        examples: ['retrieval.query'],
      }),
    ),
    embedding_type: Type.Optional(
      Nullable(OneOf(['float', 'base64']), { description: 'Jina: as `encoding_format`.' }),
    ),
    output_dimension: Type.Optional(Nullable(Type.Integer(), { description: 'Voyage: as `dimensions`.' })),
    output_dtype: Type.Optional(Nullable(OneOf(['float']), { description: 'Voyage: type of the numbers.' })),
  },
);
export type OpenAiEmbeddingsRequest = Static<typeof OpenAiEmbeddingsRequest>;

export const OpenAiEmbeddingsResponse = Component('OpenAiEmbeddingsResponse', 'Vectors, in OpenAI format.', {
  object: Type.Literal('list'),
  data: Type.Array(Type.Object({ object: Type.Literal('embedding'), index: Type.Integer(), embedding })),
  model: Type.String(),
  usage: Type.Object({ prompt_tokens: Type.Integer(), total_tokens: Type.Integer() }),
});
export type OpenAiEmbeddingsResponse = Static<typeof OpenAiEmbeddingsResponse>;

export const OpenAiModel = Component('OpenAiModel', 'A model, in OpenAI format.', {
  id: Type.String({ description: 'Name of the model.', examples: ['zembed-1'] }),
  object: Type.Literal('model'),
  created: Type.Integer({ description: 'Always 0.' }),
  owned_by: Type.String({ description: 'Always `quarry`.' }),
});
export type OpenAiModel = Static<typeof OpenAiModel>;

export const OpenAiModelList = Component('OpenAiModelList', 'All models, in OpenAI format.', {
  object: Type.Literal('list'),
  data: Type.Array(OpenAiModel),
});
export type OpenAiModelList = Static<typeof OpenAiModelList>;

export const OpenAiModelRequest = Component('OpenAiModelRequest', 'A model, by name.', {
  model: Type.String({ description: 'Name of the model.', examples: ['zembed-1'] }),
});
export type OpenAiModelRequest = Static<typeof OpenAiModelRequest>;

export const VectorStoreSearchRequest = Component(
  'VectorStoreSearchRequest',
  'A query for snippets, in the format of OpenAI vector stores.',
  {
    vector_store_id: Type.String({ description: 'Name of the collection.', examples: ['handbook'] }),
    query: Type.Union([Type.String(), Type.Array(Type.String())], {
      description: 'The query, or several texts that are searched as one query.',
      examples: ['How long do refunds take?'],
    }),
    max_num_results: Type.Optional(
      Nullable(Type.Integer(), {
        description: 'Maximum number of results, 1 to 50; absent or null means 10.',
      }),
    ),
    filters: Type.Optional(
      Type.Unknown({
        description:
          'Filter on metadata: `{type, key, value}` with `eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `in` or `nin`, or `{type, filters}` with `and` or `or`.',
        examples: [{ type: 'eq', key: 'author', value: 'Ada' }],
      }),
    ),
    ranking_options: Type.Optional(
      Nullable(
        Type.Object({
          score_threshold: Type.Optional(Nullable(Type.Number(), { description: 'Minimum score, 0 to 1.' })),
        }),
        { description: 'Options of ranking.' },
      ),
    ),
  },
);
export type VectorStoreSearchRequest = Static<typeof VectorStoreSearchRequest>;

export const VectorStoreSearchResponse = Component(
  'VectorStoreSearchResponse',
  'Snippets, in the format of OpenAI vector stores.',
  {
    object: Type.Literal('vector_store.search_results.page'),
    search_query: Type.Array(Type.String(), { description: 'The texts of the query.' }),
    data: Type.Array(
      Type.Object({
        file_id: Type.String({ description: 'Path of the document.' }),
        filename: Type.String({ description: 'Path of the document.' }),
        score: Type.Number({ description: 'Relevance within this query, 0 to 1; higher is better.' }),
        attributes: Type.Unsafe<DocumentMetadataJson>({
          type: 'object',
          additionalProperties: { anyOf: metadataValueSchemas },
          description: 'Metadata of the document.',
        }),
        content: Type.Array(Type.Object({ type: Type.Literal('text'), text: Type.String() })),
      }),
      { description: 'Best first.' },
    ),
    has_more: Type.Boolean({ description: 'Always false.' }),
    next_page: Nullable(Type.String(), { description: 'Always null.' }),
  },
);
export type VectorStoreSearchResponse = Static<typeof VectorStoreSearchResponse>;
