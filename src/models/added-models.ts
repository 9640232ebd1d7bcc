import { constants, copyFile, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AppError } from '../core/app-error.ts';
import { hasErrorCode } from '../core/error-code.ts';
import { inspectModelFolder, type ModelOverrides } from './inspect-model-folder.ts';
import type { InferenceOptions, LocalModel } from './local-model.ts';
import { checkCapacity, checkModelFiles, listModelFiles } from './model-files.ts';
import { checkNotInUse } from './model-usage.ts';
import { manifestFile, modelsFolder } from './models-folder.ts';
import { OnnxEmbedder } from './onnx-embedder.ts';
import { OnnxReranker } from './onnx-reranker.ts';
import { defaultEmbeddingModel, rerankModels } from './registry.ts';

/** Reserved name that is not a model: the model name of collections whose vectors are sent by callers. */
export const reservedModelName = 'own';
const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/** Lists all added models, sorted by name. Errors: AppError that names the file if a manifest cannot be read. */
export async function listAddedModels(dataFolder: string): Promise<LocalModel[]> {
  let names: string[];
  try {
    names = (await readdir(modelsFolder(dataFolder), { withFileTypes: true }))
      .filter((entry) => entry.isDirectory() && namePattern.test(entry.name))
      .map(({ name }) => name)
      .sort();
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return [];
    throw error;
  }
  return Promise.all(names.map((name) => readManifest(dataFolder, name)));
}

/** Checks the name of a new model. Errors: AppError if it is invalid, reserved or taken. */
export async function checkNewModelName(dataFolder: string, id: string): Promise<void> {
  if (!namePattern.test(id))
    throw new AppError(
      'bad_request',
      `${JSON.stringify(id)} is not a valid model name. Use letters, digits, ".", "_" and "-" (--name).`,
    );
  if (id === reservedModelName)
    throw new AppError(
      'bad_request',
      `The name "${id}" is reserved for vectors sent by clients. Choose another name with --name.`,
    );
  if (id === defaultEmbeddingModel || rerankModels.some((model) => model.id === id))
    throw new AppError(
      'conflict',
      `${id} is a built-in model. To route this name to another model, set QUARRY_MODEL_ALIASES.`,
    );
  const added = await listAddedModels(dataFolder);
  if (added.some((model) => model.id === id))
    throw new AppError(
      'conflict',
      `A model named ${id} already exists. Remove it first: \`quarry models remove ${id}\`.`,
    );
}

/**
 * Inspects a model folder and copies the files that the model needs. Errors: AppError that describes the
 * problem of an unusable folder or name.
 */
export async function addModel(
  dataFolder: string,
  folder: string,
  overrides: ModelOverrides,
): Promise<LocalModel> {
  const { id } = overrides;
  await checkNewModelName(dataFolder, id);
  const model = await inspectModelFolder(folder, overrides);
  await checkModelFiles(folder, model);
  await mkdir(modelsFolder(dataFolder), { recursive: true });
  await checkCapacity(folder, model, modelsFolder(dataFolder));
  const target = join(modelsFolder(dataFolder), id);
  // The leading dot fails `namePattern`, so an incomplete copy is never listed as a model.
  const staging = join(modelsFolder(dataFolder), `.adding-${id}`);
  await rm(staging, { recursive: true, force: true });
  for (const file of await listModelFiles(folder, model)) {
    await mkdir(dirname(join(staging, file)), { recursive: true });
    await copyFile(join(folder, file), join(staging, file), constants.COPYFILE_FICLONE);
  }
  await writeFile(join(staging, manifestFile), `${JSON.stringify(model, null, 2)}\n`);
  await rename(staging, target);
  return model;
}

/**
 * Removes an added model. Errors: 409 if the model is in use. `force` skips this check; collections that use
 * the model then answer by lexical search only.
 */
export async function removeModel(dataFolder: string, id: string, { force = false } = {}): Promise<void> {
  const model = await getAddedModel(dataFolder, id);
  if (!force) await checkNotInUse(dataFolder, id);
  await rm(join(modelsFolder(dataFolder), model.id), { recursive: true });
}

/** Returns the added model with this name. Errors: 404 that lists the added models. */
export async function getAddedModel(dataFolder: string, id: string): Promise<LocalModel> {
  const models = await listAddedModels(dataFolder);
  const model = models.find((candidate) => candidate.id === id);
  if (model !== undefined) return model;
  const ids = models.map((candidate) => candidate.id).join(', ') || 'none';
  throw new AppError('not_found', `No custom model is named ${JSON.stringify(id)}. Custom models: ${ids}.`);
}

/**
 * Runs a model on sample texts and reports the scores: for an embedding model, the similarity of each
 * document to the query; for a reranker, the relevance of each document.
 */
export async function testModel(
  dataFolder: string,
  id: string,
  {
    query,
    documents,
    run,
  }: { readonly query: string; readonly documents: readonly string[]; readonly run: InferenceOptions },
): Promise<{ readonly scores: Float32Array; readonly tokens: number; readonly ms: number }> {
  const model = await getAddedModel(dataFolder, id);
  const folder = join(modelsFolder(dataFolder), id);
  if (model.kind === 'reranker') {
    const reranker = await OnnxReranker.open({ model, folder, inferenceOptions: run });
    try {
      const started = performance.now();
      return { ...(await reranker.score(query, documents)), ms: performance.now() - started };
    } finally {
      await reranker.close();
    }
  }
  const embedder = await OnnxEmbedder.open({ model, folder, inferenceOptions: run });
  try {
    const started = performance.now();
    const queryEmbedding = await embedder.embed([query], 'query');
    const documentEmbeddings = await embedder.embed(documents, 'document');
    const ms = performance.now() - started;
    const scores = Float32Array.from(documents, (_, row) =>
      queryEmbedding.vectors.reduce(
        (sum, component, i) => sum + component * documentEmbeddings.vectors[row * model.dimensions + i]!,
        0,
      ),
    );
    return { scores, tokens: queryEmbedding.tokens + documentEmbeddings.tokens, ms };
  } finally {
    await embedder.close();
  }
}

async function readManifest(dataFolder: string, name: string): Promise<LocalModel> {
  const path = join(modelsFolder(dataFolder), name, manifestFile);
  try {
    const model = JSON.parse(await readFile(path, 'utf8')) as LocalModel;
    if (model.format === 1 && model.id === name) return model;
  } catch (cause) {
    throw new AppError('invalid', `${path} cannot be read: ${(cause as Error).message}.`, { cause });
  }
  throw new AppError('invalid', `${path} is not a valid manifest of the model ${name} for this version.`);
}
