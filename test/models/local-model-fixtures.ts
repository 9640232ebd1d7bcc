import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addModel } from '../../src/models/added-models.ts';
import type { ModelOverrides } from '../../src/models/inspect-model-folder.ts';
import type { InferenceOptions, LocalEmbedding, LocalReranker } from '../../src/models/local-model.ts';
import { modelsFolder } from '../../src/models/models-folder.ts';
import { OnnxEmbedder } from '../../src/models/onnx-embedder.ts';
import { OnnxReranker } from '../../src/models/onnx-reranker.ts';
import type { Test } from '../support/tap.ts';
import { embeddingWidth, vectorComponent, vocabulary, writeModelFolder } from './model-folder-fixtures.ts';

/** Models that are added from a folder and opened, and the vectors that they should return. */

export const run: InferenceOptions = { threads: 1, batchTokens: 64, executionProviders: ['cpu'] };

export function createDataFolder(t: Test): string {
  const data = mkdtempSync(join(tmpdir(), 'quarry-models-'));
  t.teardown(() => rmSync(data, { recursive: true, force: true }));
  return data;
}

export const defaultOptions: ModelOverrides = {
  id: 'small',
  kind: undefined,
  graph: undefined,
  pooling: undefined,
  dimensions: undefined,
  tokensMax: undefined,
  queryPrompt: undefined,
  documentPrompt: undefined,
  template: undefined,
};

export type Files = Parameters<typeof writeModelFolder>[1];

/** Adds an embedding model from these files and opens it. */
export async function openEmbedder(t: Test, files: Files = {}, options: Partial<ModelOverrides> = {}) {
  const data = createDataFolder(t);
  const model = (await addModel(data, writeModelFolder(t, files), {
    ...defaultOptions,
    ...options,
  })) as LocalEmbedding;
  t.equal(model.kind, 'embedding');
  const opened = await OnnxEmbedder.open({
    model,
    folder: join(modelsFolder(data), model.id),
    inferenceOptions: run,
  });
  t.teardown(() => opened.close());
  return { model, opened };
}

/** Adds a reranker from these files and opens it. */
export async function openReranker(t: Test, files: Files, options: Partial<ModelOverrides> = {}) {
  const data = createDataFolder(t);
  const model = (await addModel(data, writeModelFolder(t, files), {
    ...defaultOptions,
    ...options,
  })) as LocalReranker;
  t.equal(model.kind, 'reranker');
  const opened = await OnnxReranker.open({
    model,
    folder: join(modelsFolder(data), model.id),
    inferenceOptions: run,
  });
  t.teardown(() => opened.close());
  return { model, opened };
}

type Reference = (ids: readonly number[], i: number) => number;
const references: Readonly<Record<'mean' | 'cls' | 'last', Reference>> = {
  mean: (ids, i) => ids.reduce((sum, id) => sum + vectorComponent(id, i), 0) / ids.length,
  cls: (ids, i) => vectorComponent(ids[0]!, i),
  last: (ids, i) => vectorComponent(ids.at(-1)!, i),
};

/** Reference computation of the vector of these tokens. */
export function expectedVector(
  ids: readonly number[],
  pooling: keyof typeof references,
  dimensions = embeddingWidth,
): number[] {
  const vector = Array.from({ length: dimensions }, (_, i) => references[pooling](ids, i));
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

/** Checks that no number is off by `most` or more. */
export function checkNear(
  t: Test,
  actual: Float32Array,
  reference: readonly number[],
  what: string,
  most = 1e-5,
): void {
  const off = Math.max(...reference.map((value, i) => Math.abs(value - actual[i]!)));
  t.ok(actual.length === reference.length && off < most, `${what}: ${actual.length} numbers, off by ${off}`);
}

/** Texts of words of the vocabulary, one of them empty. */
export const texts = [
  'herring',
  'salt herring barrel',
  '',
  'tide',
  'gull tide gull tide gull tide gull',
  'yes no salt',
];

/** Weight of each token for `weightedTokensGraph`. */
export const tokenWeights = vocabulary.map((_, id) => (id < 4 ? 0.01 * id : Math.cos(id)));
