import type { ModelDirectory } from '../../src/pipeline/model-runner.ts';

/** Every name is a model that workers run. */
export const inWorkers: ModelDirectory = {
  embedding: (id) => ({ id, version: '1', dimensions: 8, runs: 'built-in' }),
  reranker: (id) => ({ id, runs: 'built-in' }),
};
