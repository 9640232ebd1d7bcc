import type { BuiltInReranker, ModelDirectory } from '../../src/ingest/model-runner.ts';

/** Directory in which every name is a model that runs in the workers. */
export const builtInModels: ModelDirectory = {
  getEmbeddingById: (id) => ({ id, version: '1', dimensions: 8, backend: 'built-in' }),
  getReranker: (id) => ({ id, version: '1', backend: 'built-in' }),
};

/** For tests that rerank nothing. */
export const unusedReranker: BuiltInReranker = {
  scoreAt: () => Promise.reject(new Error('This test does not rerank.')),
};
