import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../base/app-error.ts';
import { DenseLayer } from './dense-layer.ts';
import { checkFiles, filesOf, namesIn } from './folder-files.ts';
import { readJsonFile } from './json-file.ts';
import type { LocalModel, LocalRun, Pooling, RerankHead } from './local-model.ts';
import { OnnxEmbedder } from './onnx-embedder.ts';
import { OnnxReranker } from './onnx-reranker.ts';
import { readSentenceModules } from './sentence-modules.ts';
import { TextTokenizer } from './text-tokenizer.ts';
import { TokenGraph } from './token-graph.ts';

/** What the person who adds a model may say about it; undefined: what the folder says. */
export interface ModelWishes {
  readonly id: string;
  readonly kind: 'embedding' | 'reranker' | undefined;
  readonly graph: string | undefined;
  readonly pooling: Pooling | undefined;
  readonly dimensions: number | undefined;
  readonly tokensMax: number | undefined;
  readonly queryPrompt: string | undefined;
  readonly documentPrompt: string | undefined;
  readonly template: string | undefined;
}

/** Read when a folder says nothing: as long as most models can, and never so long that one text takes all memory. */
const tokensDefault = 512;
const tokensMost = 8_192;
const graphFolders = ['', 'onnx'] as const;
const usualGraphs = ['model.onnx', 'onnx/model.onnx'] as const;
const templateDefault =
  'Query: {query}\nDocument: {document}\nIs the document relevant to the query (yes or no)? Answer:';
/** One thread and small runs: what is tried out while a model is added. */
const trialRun: LocalRun = { threads: 1, batchTokens: 2_048, executionProviders: ['cpu'] };
const trialTexts = [
  'How long do refunds take?',
  'Refunds are paid within 14 days of the return, to the account the payment came from.',
  '',
] as const;

/**
 * Reads a folder as Hugging Face lays them out, runs the model, and says what it is. An AppError names the file and
 * the fault of one that cannot be used.
 */
export async function examineFolder(folder: string, wishes: ModelWishes): Promise<LocalModel> {
  const config = await requiredJson(folder, 'config.json');
  const graph = await graphOf(folder, wishes.graph);
  await checkFiles(folder, { graph });
  const tokensMax = wishes.tokensMax ?? (await tokensMaxOf(folder, config));
  const tokenizer = await TextTokenizer.open(folder, tokensMax);
  const opened = await TokenGraph.open(folder, graph, trialRun);
  let outputs: readonly string[];
  try {
    outputs = opened.outputs.map(({ name }) => name);
  } finally {
    await opened.close();
  }
  const base = { format: 1, id: wishes.id, graph, tokensMax, source: folder, version: '' } as const;
  const kind = wishes.kind ?? (outputs.includes('logits') ? 'reranker' : 'embedding');
  const made =
    kind === 'embedding'
      ? await embeddingOf(folder, { base, outputs }, wishes)
      : await rerankerOf(folder, { base, outputs, tokenizer }, wishes);
  return { ...made, version: await versionOf(folder, made) };
}

type Base = Pick<LocalModel, 'format' | 'id' | 'graph' | 'tokensMax' | 'source' | 'version'>;

async function embeddingOf(
  folder: string,
  { base, outputs }: { readonly base: Base; readonly outputs: readonly string[] },
  wishes: ModelWishes,
): Promise<LocalModel> {
  const pooledOutput = outputs.find((name) => name === 'sentence_embedding' || name === 'text_embeds');
  const tokenOutput = outputs.find((name) => name === 'last_hidden_state' || name === 'token_embeddings');
  const output = wishes.pooling === undefined ? (pooledOutput ?? tokenOutput) : (tokenOutput ?? pooledOutput);
  const chosen = output ?? outputs[0];
  if (chosen === undefined) throw unusable(folder, base.graph, 'it has no output');
  // A graph that gives one vector for a text has all of it inside.
  const isPooled = chosen === pooledOutput;
  const modules = isPooled || wishes.pooling !== undefined ? null : await readSentenceModules(folder);
  const pooling = isPooled ? 'none' : (wishes.pooling ?? modules?.pooling ?? 'mean');
  const prompts = await promptsOf(folder, wishes);
  const { layers = [], includesPrompt = true } = modules ?? {};
  const model = {
    ...base,
    kind: 'embedding' as const,
    ...{ output: chosen, pooling, prompts },
    ...(layers.length === 0 ? {} : { layers }),
    ...(includesPrompt ? {} : { skipsPrompt: true }),
  };
  const width = await trial(folder, base.graph, () => widthOf(folder, model));
  const dimensions = wishes.dimensions ?? width;
  if (dimensions > width)
    throw new AppError('invalid', `The model has ${width} dimensions; ${dimensions} are too many.`);
  return { ...model, dimensions };
}

/** Runs the model once: how long are its vectors, and are they vectors? */
async function widthOf(
  folder: string,
  model: Omit<LocalModel & { kind: 'embedding' }, 'dimensions'>,
): Promise<number> {
  const { graph, output, pooling, tokensMax } = model;
  const tokenizer = await TextTokenizer.open(folder, tokensMax);
  const opened = await TokenGraph.open(folder, graph, trialRun);
  let width: number;
  try {
    const [batch] = opened.batches([tokenizer.one(trialTexts[0])]);
    const { shape } = await opened.run(batch!, output);
    const layers = await Promise.all((model.layers ?? []).map((layer) => DenseLayer.open(folder, layer)));
    width = layers.at(-1)?.outputs ?? shape.at(-1) ?? 0;
  } finally {
    await opened.close();
  }
  const embedder = await OnnxEmbedder.open({ model: { ...model, dimensions: width }, folder, run: trialRun });
  try {
    await embedder.embed(trialTexts, 'document');
    const words = tokenizer.knownWords();
    const { vectors } = await embedder.embed(words, 'document');
    if (words.length > 1 && vectors.every((component, i) => component === vectors[i % width]))
      throw new Error(`it gives different texts the same vector (pooling ${pooling})`);
    return width;
  } finally {
    await embedder.close();
  }
}

async function rerankerOf(
  folder: string,
  { base, outputs, tokenizer }: { base: Base; outputs: readonly string[]; tokenizer: TextTokenizer },
  { template = templateDefault }: ModelWishes,
): Promise<LocalModel> {
  const output = outputs.includes('logits') ? 'logits' : outputs[0];
  if (output === undefined) throw unusable(folder, base.graph, 'it has no output');
  if (!template.includes('{query}') || template.split('{document}').length !== 2)
    throw new AppError('bad_request', 'The template has to hold {query}, and {document} once.');
  const shape = await trial(folder, base.graph, async () => {
    const opened = await TokenGraph.open(folder, base.graph, trialRun);
    try {
      const [batch] = opened.batches([tokenizer.two(trialTexts[0], trialTexts[1])]);
      return (await opened.run(batch!, output)).shape;
    } finally {
      await opened.close();
    }
  });
  const head = headOf(shape);
  if (head === null)
    throw unusable(
      folder,
      base.graph,
      `the output "${output}" has the shape [${shape.join(', ')}]: no scores, no two classes, no tokens`,
    );
  const question = head === 'yes-no' ? { ...yesAndNo(folder, tokenizer), template } : null;
  const model = { ...base, kind: 'reranker', output, head, question } as const;
  await trial(folder, base.graph, async () => {
    const reranker = await OnnxReranker.open({ model, folder, run: trialRun });
    try {
      await reranker.score(trialTexts[0], trialTexts.slice(1));
    } finally {
      await reranker.close();
    }
  });
  return model;
}

function headOf(shape: readonly number[]): RerankHead | null {
  if (shape.length === 1 || (shape.length === 2 && shape[1] === 1)) return 'one-logit';
  if (shape.length === 2 && shape[1] === 2) return 'two-classes';
  return shape.length === 3 ? 'yes-no' : null;
}

function yesAndNo(folder: string, tokenizer: TextTokenizer): { yes: number; no: number } {
  const [yes, no] = ['yes', 'no'].map((word) => tokenizer.idOf(word));
  if (yes !== undefined && no !== undefined && yes !== no) return { yes, no };
  throw new AppError(
    'invalid',
    `${join(folder, 'tokenizer.json')} has no tokens "yes" and "no" for a reranker that answers so.`,
  );
}

function unusable(folder: string, graph: string, reason: string, cause?: unknown): AppError {
  return new AppError('invalid', `${join(folder, graph)} cannot be used: ${reason}.`, { cause });
}

/** What goes wrong while a model runs is the model's fault. */
async function trial<T>(folder: string, graph: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof AppError ? error : unusable(folder, graph, (error as Error).message, error);
  }
}

/** The graph that was named, the usual one, or the only one there is. */
async function graphOf(folder: string, wanted: string | undefined): Promise<string> {
  const found = (
    await Promise.all(
      graphFolders.map(async (part) =>
        (await namesIn(join(folder, part))).map((name) => (part === '' ? name : `${part}/${name}`)),
      ),
    )
  )
    .flat()
    .filter((name) => name.endsWith('.onnx'))
    .sort();
  const graph =
    wanted ?? usualGraphs.find((name) => found.includes(name)) ?? (found.length === 1 ? found[0] : undefined);
  if (graph !== undefined && found.includes(graph)) return graph;
  if (found.length === 0)
    throw new AppError(
      'not_found',
      `${folder} holds no graph: neither model.onnx nor onnx/model.onnx is there.`,
    );
  const choice = `--graph names one of: ${found.join(', ')}`;
  throw new AppError(
    'not_found',
    wanted === undefined
      ? `${folder} holds several graphs; ${choice}.`
      : `${join(folder, wanted)} is missing; ${choice}.`,
  );
}

type Json = Readonly<Record<string, unknown>>;

async function requiredJson(folder: string, name: string): Promise<Json> {
  const json = await optionalJson(folder, name);
  if (json !== null) return json;
  throw new AppError('not_found', `${join(folder, name)} is missing.`);
}

async function optionalJson(folder: string, name: string): Promise<Json | null> {
  const json = await readJsonFile(join(folder, name));
  if (json === null || (typeof json === 'object' && !Array.isArray(json))) return json as Json | null;
  throw new AppError('invalid', `${join(folder, name)} is no JSON object.`);
}

async function tokensMaxOf(folder: string, config: Json): Promise<number> {
  const sentence = await optionalJson(folder, 'sentence_bert_config.json');
  const tokenizer = await optionalJson(folder, 'tokenizer_config.json');
  const said = [sentence?.max_seq_length, tokenizer?.model_max_length, config.max_position_embeddings];
  const usable = said.filter(
    (max) => typeof max === 'number' && Number.isInteger(max) && max >= 8 && max <= 1e6,
  );
  return usable.length === 0 ? tokensDefault : Math.min(tokensMost, ...(usable as number[]));
}

async function promptsOf(
  folder: string,
  { queryPrompt, documentPrompt }: ModelWishes,
): Promise<{ query: string; document: string }> {
  const config = await optionalJson(folder, 'config_sentence_transformers.json');
  const noted = (config?.prompts ?? {}) as Json;
  // The prompt of every text that names none.
  const usual = String(config?.default_prompt_name ?? '');
  const first = (...names: readonly string[]) => {
    const prompt = names.map((name) => noted[name]).find((text) => typeof text === 'string');
    return (prompt as string | undefined) ?? '';
  };
  return {
    query: queryPrompt ?? first('query', 's2p_query', 'retrieval.query', usual),
    document: documentPrompt ?? first('document', 'passage', 'corpus', 'retrieval.passage', usual),
  };
}

async function versionOf(folder: string, model: LocalModel): Promise<string> {
  const { id: _id, source: _source, ...facts } = model;
  const hash = createHash('sha256').update(JSON.stringify(facts));
  for (const file of await filesOf(folder, model)) {
    hash.update(`\0${file}\0`);
    await pipeline(createReadStream(join(folder, file)), async (parts) => {
      for await (const part of parts) hash.update(part as Buffer);
    });
  }
  return hash.digest('hex').slice(0, 16);
}
