/**
 * Trains the built-in models from text; models/README.md contains the command. Training is seeded: the same
 * text, seed, compiler and processor family give the same files.
 */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { projectRoot } from '../../src/core/root.ts';
import type { FeatureRerankerConfig } from '../../src/models/feature-reranker.ts';
import type { StaticEmbeddingConfig } from '../../src/models/static-embedder.ts';
import { WordPiece } from '../../src/text/wordpiece.ts';
import { sources } from './corpus.ts';
import { encodeEmbedding, readTrainedEmbedding } from './embedding-files.ts';
import { computeIdfTable } from './idf.ts';
import { questionFrames } from './question-frames.ts';
import { featureCount } from './rerank-features.ts';
import { buildRerankLists } from './rerank-lists.ts';
import { encodeNetwork, trainNetwork } from './rerank-network.ts';
import { SeededRandom } from './seeded-random.ts';
import { TerminalProgress } from './terminal-progress.ts';
import { countWords, writeTokens } from './tokens.ts';
import { trainVocabulary } from './vocabulary.ts';

const dimensions = 320;
const repetitionExponent = 0.75;
const rerankEpochs = 30;
const tableFile = 'table.i8';

interface TrainingJob {
  readonly dataFolder: string;
  /** Folders of the two models. */
  readonly embeddingFolder: string;
  readonly rerankerFolder: string;
  readonly workFolder: string;
  readonly vocabularySize: number;
  readonly steps: number;
  readonly batch: number;
  readonly rerankQueries: number;
  readonly threads: number;
  readonly seed: number;
  readonly progress: TerminalProgress;
}

/** Runs a program until it exits; prints its standard error as progress. */
async function runProgram(
  command: string,
  parameters: readonly string[],
  progress: TerminalProgress,
): Promise<void> {
  const child = spawn(command, parameters, { stdio: ['ignore', 'inherit', 'pipe'] });
  let last = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    last = text.trimEnd().split('\n').at(-1) ?? last;
    progress.update(last);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', (cause) =>
      reject(new Error(`${command} could not be started: ${cause.message}`, { cause })),
    );
    child.on('close', resolve);
  });
  if (code !== 0) throw new Error(`${command} ended with status ${code}: ${last}`);
  progress.complete(last === '' ? command : last);
}

async function buildVocabulary(job: TrainingJob): Promise<string[]> {
  const counts = await countWords(job.dataFolder, job.progress);
  job.progress.complete(`${counts.size} distinct words`);
  const vocabulary = trainVocabulary(counts, job.vocabularySize);
  job.progress.complete(`${vocabulary.length} pieces`);
  await writeFile(join(job.embeddingFolder, 'vocabulary.txt'), `${vocabulary.join('\n')}\n`);
  return vocabulary;
}

async function trainEmbedding(job: TrainingJob, vocabulary: readonly string[]): Promise<void> {
  const pieces = new WordPiece(vocabulary);
  const tokens = join(job.workFolder, 'tokens.bin');
  const passages = await writeTokens({ folder: job.dataFolder, path: tokens, pieces }, job.progress);
  job.progress.complete(`${passages} passages`);
  const frames = questionFrames.flatMap((frame) => {
    const ids = pieces.encode(frame);
    return [ids.length, ...ids];
  });
  await writeFile(join(job.workFolder, 'frames.bin'), Uint16Array.from(frames));
  const program = join(job.workFolder, 'contrastive');
  const source = join(projectRoot, 'models', 'train', 'contrastive.cpp');
  const flags = ['-std=c++20', '-O3', '-march=native', '-ffast-math', '-pthread'];
  await runProgram(process.env.CXX ?? 'c++', [...flags, source, '-o', program], job.progress);
  const trained = join(job.workFolder, 'trained.bin');
  const settings = {
    tokens,
    frames: join(job.workFolder, 'frames.bin'),
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
  await runProgram(
    program,
    Object.entries(settings).map(([key, value]) => `${key}=${value}`),
    job.progress,
  );
  await writeEmbedding(job.embeddingFolder, await readFile(trained), vocabulary.length);
}

async function writeEmbedding(folder: string, trained: Buffer, vocabulary: number): Promise<void> {
  const { model, table } = encodeEmbedding(readTrainedEmbedding(trained, vocabulary, dimensions), tableFile);
  const config: StaticEmbeddingConfig = {
    format: 1,
    kind: 'static-embedding',
    version: '1',
    dimensions,
    repetitionExponent,
  };
  await writeFile(join(folder, 'model.onnx'), model);
  await writeFile(join(folder, tableFile), table);
  await writeFile(join(folder, 'config.json'), `${JSON.stringify(config, null, 2)}\n`);
}

async function trainReranker(job: TrainingJob): Promise<void> {
  const idfFile = join(job.rerankerFolder, 'rarity.bin');
  const table = await computeIdfTable(job.dataFolder, job.progress);
  await writeFile(idfFile, table);
  const random = new SeededRandom(job.seed);
  const lists = await buildRerankLists(
    { data: job.dataFolder, embedding: job.embeddingFolder, idfFile, queries: job.rerankQueries, random },
    job.progress,
  );
  job.progress.complete(`${lists.listCount} pseudo-queries`);
  const network = trainNetwork(lists, rerankEpochs, new SeededRandom(job.seed), job.progress);
  const config: FeatureRerankerConfig = {
    format: 1,
    kind: 'feature-reranker',
    version: '1',
    embedding: 'zembed-1',
    features: featureCount,
  };
  await writeFile(join(job.rerankerFolder, 'model.onnx'), encodeNetwork(network));
  await writeFile(join(job.rerankerFolder, 'config.json'), `${JSON.stringify(config, null, 2)}\n`);
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
  const job: TrainingJob = {
    dataFolder: values.data,
    embeddingFolder: embedding,
    rerankerFolder: reranker,
    workFolder: work,
    vocabularySize: Number(values.vocabulary),
    steps: Number(values.steps),
    batch: Number(values.batch),
    rerankQueries: Number(values.queries),
    threads: Number(values.threads),
    seed: Number(values.seed),
    progress: new TerminalProgress(),
  };
  try {
    await trainEmbedding(job, await buildVocabulary(job));
    await trainReranker(job);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

await main();
