/**
 * Trains the built-in models from text; models/README.md has the command. Everything is seeded: the same text, seed,
 * compiler and processor family give the same files.
 */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { projectRoot } from '../../src/base/root.ts';
import type { FeatureRerankerConfig } from '../../src/models/feature-reranker.ts';
import { featureCount } from '../../src/models/rerank-features.ts';
import type { StaticEmbeddingConfig } from '../../src/models/static-embedder.ts';
import { WordPiece } from '../../src/text/wordpiece.ts';
import { sources } from './corpus.ts';
import { encodeEmbedding, readTrained } from './embedding-files.ts';
import { Progress } from './progress.ts';
import { questionFrames } from './question-frames.ts';
import { Random } from './random.ts';
import { countRarities } from './rarity.ts';
import { encodeNetwork, trainNetwork } from './rerank-network.ts';
import { makeRerankLists } from './rerank-pairs.ts';
import { countWords, writeTokens } from './tokens.ts';
import { trainVocabulary } from './vocabulary.ts';

const dimensions = 320;
const repetitionExponent = 0.75;
const rerankEpochs = 30;
const tableFile = 'table.i8';

interface Job {
  readonly data: string;
  /** Folders of the two models. */
  readonly embedding: string;
  readonly reranker: string;
  readonly work: string;
  readonly vocabularySize: number;
  readonly steps: number;
  readonly batch: number;
  readonly rerankQueries: number;
  readonly threads: number;
  readonly seed: number;
  readonly progress: Progress;
}

/** Runs a program to its end; its standard error becomes progress. */
async function run(command: string, parameters: readonly string[], progress: Progress): Promise<void> {
  const child = spawn(command, parameters, { stdio: ['ignore', 'inherit', 'pipe'] });
  let last = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    last = text.trimEnd().split('\n').at(-1) ?? last;
    progress.show(last);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', (cause) =>
      reject(new Error(`${command} could not be started: ${cause.message}`, { cause })),
    );
    child.on('close', resolve);
  });
  if (code !== 0) throw new Error(`${command} ended with status ${code}: ${last}`);
  progress.done(last === '' ? command : last);
}

async function makeVocabulary(job: Job): Promise<string[]> {
  const counts = await countWords(job.data, job.progress);
  job.progress.done(`${counts.size} distinct words`);
  const vocabulary = trainVocabulary(counts, job.vocabularySize);
  job.progress.done(`${vocabulary.length} pieces`);
  await writeFile(join(job.embedding, 'vocabulary.txt'), `${vocabulary.join('\n')}\n`);
  return vocabulary;
}

async function trainEmbedding(job: Job, vocabulary: readonly string[]): Promise<void> {
  const pieces = new WordPiece(vocabulary);
  const tokens = join(job.work, 'tokens.bin');
  const passages = await writeTokens({ folder: job.data, path: tokens, pieces }, job.progress);
  job.progress.done(`${passages} passages`);
  const frames = questionFrames.flatMap((frame) => {
    const ids = pieces.encode(frame);
    return [ids.length, ...ids];
  });
  await writeFile(join(job.work, 'frames.bin'), Uint16Array.from(frames));
  const program = join(job.work, 'contrastive');
  const source = join(projectRoot, 'models', 'train', 'contrastive.cpp');
  const flags = ['-std=c++20', '-O3', '-march=native', '-ffast-math', '-pthread'];
  await run(process.env.CXX ?? 'c++', [...flags, source, '-o', program], job.progress);
  const trained = join(job.work, 'trained.bin');
  const settings = {
    tokens,
    frames: join(job.work, 'frames.bin'),
    out: trained,
    shares: sources.map(({ share }) => share).join(','),
    vocabulary: vocabulary.length,
    exponent: repetitionExponent,
    same: 0.6,
    steps: job.steps,
    batch: job.batch,
    threads: job.threads,
    seed: job.seed,
  };
  await run(
    program,
    Object.entries(settings).map(([key, value]) => `${key}=${value}`),
    job.progress,
  );
  await writeEmbedding(job.embedding, await readFile(trained), vocabulary.length);
}

async function writeEmbedding(out: string, trained: Buffer, vocabulary: number): Promise<void> {
  const { model, table } = encodeEmbedding(readTrained(trained, vocabulary, dimensions), tableFile);
  const config: StaticEmbeddingConfig = {
    format: 1,
    kind: 'static-embedding',
    version: '1',
    dimensions,
    repetitionExponent,
  };
  await writeFile(join(out, 'model.onnx'), model);
  await writeFile(join(out, tableFile), table);
  await writeFile(join(out, 'config.json'), `${JSON.stringify(config, null, 2)}\n`);
}

async function trainReranker(job: Job): Promise<void> {
  const rarityFile = join(job.reranker, 'rarity.bin');
  const rarities = await countRarities(job.data, job.progress);
  await writeFile(rarityFile, rarities);
  const random = new Random(job.seed);
  const lists = await makeRerankLists(
    { data: job.data, embedding: job.embedding, rarityFile, queries: job.rerankQueries, random },
    job.progress,
  );
  job.progress.done(`${lists.lists} pseudo-queries`);
  const network = trainNetwork(lists, rerankEpochs, new Random(job.seed), job.progress);
  const config: FeatureRerankerConfig = {
    format: 1,
    kind: 'feature-reranker',
    version: '1',
    embedding: 'zembed-1',
    features: featureCount,
  };
  await writeFile(join(job.reranker, 'model.onnx'), encodeNetwork(network));
  await writeFile(join(job.reranker, 'config.json'), `${JSON.stringify(config, null, 2)}\n`);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      data: { type: 'string' },
      out: { type: 'string', default: join(projectRoot, 'models') },
      vocabulary: { type: 'string', default: '30000' },
      steps: { type: 'string', default: '3500' },
      batch: { type: 'string', default: '1024' },
      queries: { type: 'string', default: '4000' },
      threads: { type: 'string', default: String(Math.min(4, availableParallelism())) },
      seed: { type: 'string', default: '1' },
    },
  });
  if (values.data === undefined) throw new Error('--data names the folder of the training text');
  const embedding = join(values.out, 'zembed-1');
  const reranker = join(values.out, 'zerank');
  for (const folder of [embedding, reranker]) await mkdir(folder, { recursive: true });
  const work = await mkdtemp(join(tmpdir(), 'quarry-train-'));
  const job: Job = {
    data: values.data,
    embedding,
    reranker,
    work,
    vocabularySize: Number(values.vocabulary),
    steps: Number(values.steps),
    batch: Number(values.batch),
    rerankQueries: Number(values.queries),
    threads: Number(values.threads),
    seed: Number(values.seed),
    progress: new Progress(),
  };
  try {
    await trainEmbedding(job, await makeVocabulary(job));
    await trainReranker(job);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

await main();
