import type { Services } from '../../src/http/services.ts';
import { RenderedJson } from '../../src/services/rendered-json.ts';

/** Services for clients of OpenAI and Cohere that answer with small replies of the documented shape. */

const id = '00000000-0000-4000-8000-000000000001';
const rerankMeta = {
  api_version: { version: '2' },
  billed_units: { search_units: 1 },
  tokens: { input_tokens: 1 },
};
const openAiModel = { id: 'zembed-1', object: 'model', created: 0, owned_by: 'quarry' } as const;

export const fakeClientServices: Services['openAi'] & Services['cohere'] = {
  openAiEmbeddings: async () => ({
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: [1, 0] }],
    model: 'zembed-1',
    usage: { prompt_tokens: 1, total_tokens: 1 },
  }),
  cohereRerank: async () => ({
    id,
    results: [{ index: 0, relevance_score: 0.5 }],
    meta: rerankMeta,
    model: 'zerank-2',
    object: 'list',
    usage: { total_tokens: 1 },
  }),
  cohereRerankV2: async () => ({
    id,
    results: [{ index: 0, relevance_score: 0.5 }],
    meta: rerankMeta,
  }),
  cohereEmbed: async () =>
    RenderedJson.of({
      id,
      embeddings: { float: [[1, 0]] },
      texts: ['x'],
      meta: { api_version: { version: '2' }, billed_units: { input_tokens: 1 } },
      response_type: 'embeddings_by_type',
    }),
  listOpenAiModels: async () => ({ object: 'list', data: [openAiModel] }),
  getOpenAiModel: async () => openAiModel,
  searchVectorStore: async () => ({
    object: 'vector_store.search_results.page',
    search_query: ['x'],
    data: [],
    has_more: false,
    next_page: null,
  }),
};
