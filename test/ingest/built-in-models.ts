import type { ModelDirectory } from '../../src/ingest/model-runner.ts';

/** Every name is a model that workers run. */
export const builtInModels: ModelDirectory = {
  getEmbedding: (id) => ({ id, version: '1', dimensions: 8, backend: 'built-in' }),
  getReranker: (id) => ({ id, backend: 'built-in' }),
};
