import { AppError } from '../core/app-error.ts';
import type {
  OpenAiEmbeddingsRequest,
  OpenAiEmbeddingsResponse,
  OpenAiModel,
  OpenAiModelList,
  VectorStoreSearchRequest,
  VectorStoreSearchResponse,
} from '../schemas/openai.ts';
import type { ModelService, ModelServiceCall } from './models.ts';
import { toMetadataFilter } from './openai-filter.ts';
import type { QueryServices } from './queries.ts';
import { createEncoder, mapInTurns } from './vector-encoding.ts';

const resultsDefault = 10;

export interface OpenAiServicesOptions {
  readonly models: Pick<ModelService, 'listModels' | 'embedTexts'>;
  readonly queries: Pick<QueryServices, 'topSnippets'>;
}

/** Embeds, lists models and searches in the format of OpenAI. */
export class OpenAiServices {
  readonly #options: OpenAiServicesOptions;

  constructor(options: OpenAiServicesOptions) {
    this.#options = options;
  }

  /** `POST /embeddings`. Texts are embedded as documents unless the request specifies queries. */
  async openAiEmbeddings(
    call: ModelServiceCall,
    request: OpenAiEmbeddingsRequest,
  ): Promise<OpenAiEmbeddingsResponse> {
    const { input } = request;
    const isQuery = request.input_type === 'query' || request.task === 'retrieval.query';
    const embedded = await this.#options.models.embedTexts(call, {
      model: request.model,
      texts: typeof input === 'string' ? [input] : input.map(toText),
      inputType: isQuery ? 'query' : 'document',
      dimensions: request.dimensions ?? request.output_dimension,
      latency: null,
    });
    const encode = createEncoder(request.encoding_format ?? request.embedding_type);
    return {
      object: 'list',
      data: await mapInTurns(call, embedded.vectors, (vector, index) => ({
        object: 'embedding',
        index,
        embedding: encode(vector),
      })),
      model: request.model,
      usage: { prompt_tokens: embedded.tokens, total_tokens: embedded.tokens },
    };
  }

  /** `GET /models`: embedding models, then rerankers. */
  async listOpenAiModels(): Promise<OpenAiModelList> {
    const { embedding_models, rerankers } = this.#options.models.listModels();
    const names = new Set([...embedding_models, ...rerankers]);
    return { object: 'list', data: [...names].map(toModel) };
  }

  /** `GET /models/{model}`. Errors: 404 for an unknown model. */
  async getOpenAiModel(name: string): Promise<OpenAiModel> {
    const { data } = await this.listOpenAiModels();
    const model = data.find(({ id }) => id === name);
    if (model !== undefined) return model;
    const names = data.map(({ id }) => id).join(', ');
    throw new AppError(
      'not_found',
      `The model ${JSON.stringify(name)} does not exist. Available models: ${names}.`,
    );
  }

  /** `POST /vector_stores/{id}/search`. Errors: as `topSnippets`. */
  async searchVectorStore(
    call: ModelServiceCall,
    request: VectorStoreSearchRequest,
  ): Promise<VectorStoreSearchResponse> {
    const minScore = request.ranking_options?.score_threshold;
    const reply = await this.#options.queries.topSnippets(call, {
      collection_name: request.vector_store_id,
      query: joinQuery(request.query),
      k: request.max_num_results ?? resultsDefault,
      filter: toMetadataFilter(request.filters),
      include_document_metadata: true,
      ...(minScore === undefined || minScore === null ? {} : { min_score: minScore }),
    });
    const { results, document_results: documents } = reply.parse();
    const metadataByPath = new Map(documents.map(({ path, metadata }) => [path, metadata]));
    return {
      object: 'vector_store.search_results.page',
      search_query: typeof request.query === 'string' ? [request.query] : request.query,
      data: results.map(({ path, score, content }) => ({
        file_id: path,
        filename: path,
        score,
        attributes: metadataByPath.get(path) ?? {},
        content: [{ type: 'text', text: content }],
      })),
      has_more: false,
      next_page: null,
    };
  }
}

/** Several texts are one query, in which the words of all of them count. */
export function joinQuery(query: VectorStoreSearchRequest['query']): string {
  return typeof query === 'string' ? query : query.join('\n');
}

function toText(item: string | { readonly text: string }): string {
  return typeof item === 'string' ? item : item.text;
}

function toModel(id: string): OpenAiModel {
  return { id, object: 'model', created: 0, owned_by: 'quarry' };
}
