import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../core/app-error.ts';
import { chooseGraph } from './choose-graph.ts';
import { DenseLayer } from './dense-layer.ts';
import { readJsonFile } from './json-file.ts';
import type { InferenceOptions, LocalModel, Pooling, RerankHead } from './local-model.ts';
import { checkModelFiles, listModelFiles, listNames } from './model-files.ts';
import { OnnxEmbedder } from './onnx-embedder.ts';
import { OnnxReranker } from './onnx-reranker.ts';
import { readSentenceModules } from './sentence-modules.ts';
import { TextTokenizer } from './text-tokenizer.ts';
import { TokenGraph } from './token-graph.ts';

/** Properties set by the person who adds a model; undefined: derived from the folder. */
export interface ModelOverrides {
  readonly id: string;
  readonly kind: 'embedding' | 'reranker' | undefined;
  readonly graph: string | undefined;
  readonly pooling: Pooling | undefined;
  readonly dimensions: number | undefined;
  readonly tokensMax: number | undefined;
  readonly queryPrompt: string | undefined;
  readonly documentPrompt: string | undefined;
  readonly template: string | undefined;
  /** Origin of the files, for display; absent: the folder. */
  readonly source?: string;
}

/**
 * Default and upper bound of `tokensMax`: the default is a length that most models support; the bound keeps
 * one text from exhausting the memory.
 */
const tokensDefault = 512;
const tokensLimit = 8_192;
const graphFolders = ['', 'onnx'] as const;
const templateDefault =
  'Query: {query}\nDocument: {document}\nIs the document relevant to the query (yes or no)? Answer:';
/** Options of the trial runs while a model is added: one thread, small batches. */
const trialOptions: InferenceOptions = { threads: 1, batchTokens: 2_048, executionProviders: ['cpu'] };
const trialTexts = [
  'How long do refunds take?',
  'Refunds are paid within 14 days of the return, to the account the payment came from.',
  '',
] as const;

/**
 * Reads a folder in the Hugging Face layout, runs the model and returns its description. Errors: AppError
 * that names the file and the problem if the model cannot be used.
 */
export async function inspectModelFolder(folder: string, overrides: ModelOverrides): Promise<LocalModel> {
  const config = await readRequiredJson(folder, 'config.json');
  const graph = await findGraph(folder, overrides.graph);
  await checkModelFiles(folder, { graph });
  const tokensMax = overrides.tokensMax ?? (await readTokensMax(folder, config));
  const tokenizer = await TextTokenizer.open(folder, tokensMax);
  const tokenGraph = await TokenGraph.open(folder, graph, trialOptions);
  let outputs: readonly string[];
  try {
    outputs = tokenGraph.outputs.map(({ name }) => name);
  } finally {
    await tokenGraph.close();
  }
  const base = {
    format: 1,
    id: overrides.id,
    graph,
    tokensMax,
    source: overrides.source ?? folder,
    version: '',
  } as const;
  const kind = overrides.kind ?? (outputs.includes('logits') ? 'reranker' : 'embedding');
  const model =
    kind === 'embedding'
      ? await inspectEmbedding(folder, { base, outputs }, overrides)
      : await inspectReranker(folder, { base, outputs, tokenizer }, overrides);
  return { ...model, version: await computeVersion(folder, model) };
}

type ModelBase = Pick<LocalModel, 'format' | 'id' | 'graph' | 'tokensMax' | 'source' | 'version'>;

async function inspectEmbedding(
  folder: string,
  { base, outputs }: { readonly base: ModelBase; readonly outputs: readonly string[] },
  overrides: ModelOverrides,
): Promise<LocalModel> {
  const pooledOutput = outputs.find((name) => name === 'sentence_embedding' || name === 'text_embeds');
  const tokenOutput = outputs.find((name) => name === 'last_hidden_state' || name === 'token_embeddings');
  const output =
    overrides.pooling === undefined ? (pooledOutput ?? tokenOutput) : (tokenOutput ?? pooledOutput);
  const outputName = output ?? outputs[0];
  if (outputName === undefined) throw unusableModelError(folder, base.graph, 'it has no output');
  // A graph that outputs one vector per text already contains the pooling and the layers.
  const isPooled = outputName === pooledOutput;
  const modules = isPooled || overrides.pooling !== undefined ? null : await readSentenceModules(folder);
  const pooling = isPooled ? 'none' : (overrides.pooling ?? modules?.pooling ?? 'mean');
  const prompts = await readPrompts(folder, overrides);
  const { layers = [], includesPrompt = true } = modules ?? {};
  const model = {
    ...base,
    kind: 'embedding' as const,
    output: outputName,
    pooling,
    prompts,
    ...(layers.length === 0 ? {} : { layers }),
    ...(includesPrompt ? {} : { skipsPrompt: true }),
  };
  const width = await runTrial(folder, base.graph, () => measureWidth(folder, model));
  const dimensions = overrides.dimensions ?? width;
  if (dimensions > width)
    throw new AppError('invalid', `The model has ${width} dimensions; ${dimensions} were requested.`);
  return { ...model, dimensions };
}

/**
 * Runs the model once. Returns the number of components of its vectors. Errors: Error if the vectors are
 * invalid or all equal.
 */
async function measureWidth(
  folder: string,
  model: Omit<LocalModel & { kind: 'embedding' }, 'dimensions'>,
): Promise<number> {
  const { graph, output, pooling, tokensMax } = model;
  const tokenizer = await TextTokenizer.open(folder, tokensMax);
  const tokenGraph = await TokenGraph.open(folder, graph, trialOptions);
  let width: number;
  try {
    const [batch] = tokenGraph.batches([tokenizer.encodeText(trialTexts[0])]);
    const { shape } = await tokenGraph.run(batch!, output);
    const layers = await Promise.all((model.layers ?? []).map((layer) => DenseLayer.open(folder, layer)));
    width = layers.at(-1)?.outputs ?? shape.at(-1) ?? 0;
  } finally {
    await tokenGraph.close();
  }
  const embedder = await OnnxEmbedder.open({
    model: { ...model, dimensions: width },
    folder,
    inferenceOptions: trialOptions,
  });
  try {
    await embedder.embed(trialTexts, 'document');
    const words = tokenizer.sampleVocabularyWords();
    const { vectors } = await embedder.embed(words, 'document');
    if (words.length > 1 && vectors.every((component, i) => component === vectors[i % width]))
      throw new Error(`it returns the same vector for different texts (pooling ${pooling})`);
    return width;
  } finally {
    await embedder.close();
  }
}

async function inspectReranker(
  folder: string,
  { base, outputs, tokenizer }: { base: ModelBase; outputs: readonly string[]; tokenizer: TextTokenizer },
  { template = templateDefault }: ModelOverrides,
): Promise<LocalModel> {
  const output = outputs.includes('logits') ? 'logits' : outputs[0];
  if (output === undefined) throw unusableModelError(folder, base.graph, 'it has no output');
  if (!template.includes('{query}') || template.split('{document}').length !== 2)
    throw new AppError('bad_request', 'The template must contain {query} and exactly one {document}.');
  const shape = await runTrial(folder, base.graph, async () => {
    const tokenGraph = await TokenGraph.open(folder, base.graph, trialOptions);
    try {
      const [batch] = tokenGraph.batches([tokenizer.encodePair(trialTexts[0], trialTexts[1])]);
      return (await tokenGraph.run(batch!, output)).shape;
    } finally {
      await tokenGraph.close();
    }
  });
  const head = detectHead(shape);
  if (head === null)
    throw unusableModelError(
      folder,
      base.graph,
      `output "${output}" has shape [${shape.join(', ')}], which is neither a score, two classes, nor token logits`,
    );
  const question = head === 'yes-no' ? { ...findYesNoTokens(folder, tokenizer), template } : null;
  const model = { ...base, kind: 'reranker', output, head, question } as const;
  await runTrial(folder, base.graph, async () => {
    const reranker = await OnnxReranker.open({ model, folder, inferenceOptions: trialOptions });
    try {
      await reranker.score(trialTexts[0], trialTexts.slice(1));
    } finally {
      await reranker.close();
    }
  });
  return model;
}

function detectHead(shape: readonly number[]): RerankHead | null {
  if (shape.length === 1 || (shape.length === 2 && shape[1] === 1)) return 'one-logit';
  if (shape.length === 2 && shape[1] === 2) return 'two-classes';
  return shape.length === 3 ? 'yes-no' : null;
}

function findYesNoTokens(folder: string, tokenizer: TextTokenizer): { yes: number; no: number } {
  const [yes, no] = ['yes', 'no'].map((word) => tokenizer.findTokenId(word));
  if (yes !== undefined && no !== undefined && yes !== no) return { yes, no };
  throw new AppError(
    'invalid',
    `${join(folder, 'tokenizer.json')} has no single tokens for "yes" and "no", which this reranker needs.`,
  );
}

function unusableModelError(folder: string, graph: string, reason: string, cause?: unknown): AppError {
  return new AppError('invalid', `${join(folder, graph)} cannot be used: ${reason}.`, { cause });
}

/** Converts errors of a trial run to an AppError about the model. */
async function runTrial<T>(folder: string, graph: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof AppError
      ? error
      : unusableModelError(folder, graph, (error as Error).message, error);
  }
}

/** Returns the requested graph, else the default graph, else the only graph in the folder. */
async function findGraph(folder: string, requested: string | undefined): Promise<string> {
  const graphs = (
    await Promise.all(
      graphFolders.map(async (part) =>
        (await listNames(join(folder, part))).map((name) => (part === '' ? name : `${part}/${name}`)),
      ),
    )
  )
    .flat()
    .filter((name) => name.endsWith('.onnx'))
    .sort();
  const graph = chooseGraph(graphs, requested ?? null);
  if (graph !== undefined) return graph;
  if (graphs.length === 0)
    throw new AppError(
      'not_found',
      `${folder} contains no ONNX graph. Expected model.onnx or onnx/model.onnx.`,
    );
  const choice = `choose one with --graph: ${graphs.join(', ')}`;
  throw new AppError(
    'not_found',
    requested === undefined
      ? `${folder} contains several ONNX graphs; ${choice}.`
      : `${join(folder, requested)} is missing; ${choice}.`,
  );
}

type Json = Readonly<Record<string, unknown>>;

async function readRequiredJson(folder: string, name: string): Promise<Json> {
  const json = await readOptionalJson(folder, name);
  if (json !== null) return json;
  throw new AppError('not_found', `${join(folder, name)} is missing.`);
}

async function readOptionalJson(folder: string, name: string): Promise<Json | null> {
  const json = await readJsonFile(join(folder, name));
  if (json === null || (typeof json === 'object' && !Array.isArray(json))) return json as Json | null;
  throw new AppError('invalid', `${join(folder, name)} is not a JSON object.`);
}

async function readTokensMax(folder: string, config: Json): Promise<number> {
  const sentence = await readOptionalJson(folder, 'sentence_bert_config.json');
  const tokenizer = await readOptionalJson(folder, 'tokenizer_config.json');
  const candidates = [sentence?.max_seq_length, tokenizer?.model_max_length, config.max_position_embeddings];
  const valid = candidates.filter(
    (max) => typeof max === 'number' && Number.isInteger(max) && max >= 8 && max <= 1e6,
  );
  return valid.length === 0 ? tokensDefault : Math.min(tokensLimit, ...(valid as number[]));
}

async function readPrompts(
  folder: string,
  { queryPrompt, documentPrompt }: ModelOverrides,
): Promise<{ query: string; document: string }> {
  const config = await readOptionalJson(folder, 'config_sentence_transformers.json');
  const configured = (config?.prompts ?? {}) as Json;
  // Prompt of texts that do not name one.
  const defaultName = String(config?.default_prompt_name ?? '');
  const findPrompt = (...names: readonly string[]) => {
    const prompt = names.map((name) => configured[name]).find((text) => typeof text === 'string');
    return (prompt as string | undefined) ?? '';
  };
  return {
    query: queryPrompt ?? findPrompt('query', 's2p_query', 'retrieval.query', defaultName),
    document: documentPrompt ?? findPrompt('document', 'passage', 'corpus', 'retrieval.passage', defaultName),
  };
}

async function computeVersion(folder: string, model: LocalModel): Promise<string> {
  const { id: _id, source: _source, ...rest } = model;
  const hash = createHash('sha256').update(JSON.stringify(rest));
  for (const file of await listModelFiles(folder, model)) {
    hash.update(`\0${file}\0`);
    await pipeline(createReadStream(join(folder, file)), async (parts) => {
      for await (const part of parts) hash.update(part as Buffer);
    });
  }
  return hash.digest('hex').slice(0, 16);
}
