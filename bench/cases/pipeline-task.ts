import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ChunkBatch, ChunkTask } from '../../src/chunking/chunk-task.ts';
import { findJudgedFolders, readJudgedSet } from '../../src/eval/judged-set.ts';
import { callParser } from '../../src/ingest/parser-call.ts';
import { Pool, type PoolName } from '../../src/ingest/pools.ts';
import {
  defaultEmbeddingModel,
  type EmbedTask,
  getEmbeddingModel,
  openBuiltInReranker,
  sharedReranker,
} from '../../src/models/registry.ts';
import { StaticEmbedder } from '../../src/models/static-embedder.ts';
import { WordPiece } from '../../src/text/wordpiece.ts';
import { Corpus } from '../harness/corpus.ts';
import { ownCpuMs } from '../harness/cpu-time.ts';
import { interleave } from '../harness/rounds.ts';
import type { TaskProgress } from '../harness/task-process.ts';

/** Task process: runs each worker pool of the pipeline alone. */

export interface PipelineInput {
  readonly seed: number;
  readonly seconds: number;
  readonly rounds: number;
  /** A judged set, or a folder of judged sets, whose text is used; null: generated text. */
  readonly judged: string | null;
}

export interface PipelineOutput {
  readonly steps: readonly {
    readonly name: string;
    readonly threads: number;
    /** Target: minimum megabytes per CPU second; null if there is none. */
    readonly mbPerCpuSecondLeast: number | null;
    /** Megabytes of text per second, round by round. */
    readonly mbPerSecond: readonly number[];
    /** Megabytes of text per CPU second; null if other processes do the work. */
    readonly mbPerCpuSecond: readonly (number | null)[];
  }[];
  /** Latencies of single requests, sent one at a time to one thread; microseconds, round by round. */
  readonly answers: readonly {
    readonly name: string;
    readonly p50: readonly number[];
    readonly p95: readonly number[];
    /** CPU time per request. */
    readonly cpu: readonly number[];
  }[];
}

interface Texts {
  /** A text of about 8,000 words. */
  readonly document: string;
  readonly passages: readonly string[];
  readonly questions: readonly string[];
}

interface Step {
  readonly name: string;
  readonly pool: PoolName;
  readonly textBytes: number;
  readonly mbPerCpuSecondLeast?: number;
  readonly run: (pool: Pick<Pool, 'run'>) => Promise<unknown>;
}

/** Work on the calling thread, measured as a pool of one thread. */
interface InlineStep extends Omit<Step, 'pool'> {
  readonly pool: null;
}

/** A single request; `index` increases, so that no question is repeated consecutively. */
interface LatencyStep {
  readonly name: string;
  readonly run: (index: number) => Promise<unknown>;
}

const queueTasksMax = 64;
const rerankedTexts = 100;
const embeddedTexts = 32;
const passageUnits = 2_000;
const documentUnits = 48_000;
const questionsMax = 1_000;

export default async function pipeline(
  input: PipelineInput,
  progress: TaskProgress,
): Promise<PipelineOutput> {
  const { seed, seconds, rounds } = input;
  const folder = await mkdtemp(join(tmpdir(), 'quarry-bench-pipeline-'));
  const cores = availableParallelism();
  const counts = cores === 1 ? [1] : [1, cores];
  const names: readonly PoolName[] = ['parse', 'chunk', 'embed'];
  const pools = counts.flatMap((threads) => names.map((name) => new Pool({ name, threads, queueTasksMax })));
  const poolOf = (name: PoolName | null, threads: number) =>
    pools.find((pool) => pool.name === name && pool.threads === threads) ?? null;
  try {
    const texts = await (input.judged === null ? generatedTexts(seed) : judgedTexts(input.judged));
    const configurations = (await createSteps(texts, folder)).flatMap((step) =>
      (step.pool === null ? [1] : counts).map((threads) => ({
        step,
        threads,
        mbPerSecond: [] as number[],
        mbPerCpuSecond: [] as (number | null)[],
        pool: poolOf(step.pool, threads),
      })),
    );
    for (const [done, { step, pool }] of configurations.entries()) {
      progress.update('warming up', done, configurations.length, step.name);
      await measureRate(step, pool, seconds / 4);
    }
    const steps = interleave(configurations, rounds, seed);
    for (const [done, { configuration }] of steps.entries()) {
      const { step, threads } = configuration;
      progress.update('throughput', done, steps.length, `${step.name}, threads: ${threads}`);
      const { wall, cpu } = await measureRate(configuration.step, configuration.pool, seconds);
      configuration.mbPerSecond.push(wall);
      configuration.mbPerCpuSecond.push(cpu);
    }
    const answers = (await createLatencySteps(texts, (name) => poolOf(name, 1) ?? noPool)).map((answer) => ({
      answer,
      p50: [] as number[],
      p95: [] as number[],
      cpu: [] as number[],
    }));
    for (const { answer } of answers) await measureLatency(answer, seconds / 4);
    const latencySteps = interleave(answers, rounds, seed);
    for (const [done, { configuration }] of latencySteps.entries()) {
      progress.update('one request at a time', done, latencySteps.length, configuration.answer.name);
      const { p50, p95, cpu } = await measureLatency(configuration.answer, seconds);
      configuration.p50.push(p50);
      configuration.p95.push(p95);
      configuration.cpu.push(cpu);
    }
    return {
      steps: configurations.map(({ step: { name, mbPerCpuSecondLeast = null }, pool: _, ...values }) => ({
        name,
        mbPerCpuSecondLeast,
        ...values,
      })),
      answers: answers.map(({ answer: { name }, ...values }) => ({ name, ...values })),
    };
  } finally {
    await Promise.all(pools.map((pool) => pool.close()));
    await rm(folder, { recursive: true, force: true });
  }
}

const noPool: Pick<Pool, 'run'> = {
  run: () => Promise.reject(new Error('This step has no pool.')),
};

interface Rate {
  readonly wall: number;
  readonly cpu: number | null;
}

/** Runs one task per thread, plus one queued task. */
async function measureRate(step: Step | InlineStep, pool: Pool | null, seconds: number): Promise<Rate> {
  const [start, cpuBefore] = [performance.now(), ownCpuMs()];
  let tasks = 0;
  const lane = async () => {
    do {
      await step.run(pool ?? noPool);
      tasks += 1;
    } while (performance.now() - start < seconds * 1_000);
  };
  await Promise.all(Array.from({ length: pool === null ? 1 : pool.threads + 1 }, lane));
  const kilobytes = (tasks * step.textBytes) / 1_000;
  const cpu = step.pool === 'parse' ? null : kilobytes / (ownCpuMs() - cpuBefore);
  return { wall: kilobytes / (performance.now() - start), cpu };
}

/** Runs requests one at a time. Returns microseconds. */
async function measureLatency(
  { run }: LatencyStep,
  seconds: number,
): Promise<{ p50: number; p95: number; cpu: number }> {
  const latencies: number[] = [];
  const [start, cpuBefore] = [performance.now(), ownCpuMs()];
  for (let last = start; last - start < seconds * 1_000; ) {
    await run(latencies.length);
    const now = performance.now();
    latencies.push(1_000 * (now - last));
    last = now;
  }
  const cpu = (1_000 * (ownCpuMs() - cpuBefore)) / latencies.length;
  const sorted = Float64Array.from(latencies).sort();
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1]!;
  return { p50: at(0.5), p95: at(0.95), cpu };
}

function generatedTexts(seed: number): Texts {
  const corpus = new Corpus({ seed, documents: 200, wordsPerDocument: 8_000 });
  return {
    document: corpus.document(0).text,
    passages: Array.from({ length: rerankedTexts }, (_, i) =>
      corpus.document(i + 1).text.slice(0, passageUnits),
    ),
    questions: Array.from({ length: questionsMax }, (_, i) => corpus.question(i)),
  };
}

/** Returns the concatenated text of a set, cut to the required length. Errors: Error if it is too short. */
async function judgedTexts(folder: string): Promise<Texts> {
  const set = await readJudgedSet((await findJudgedFolders(folder))[0]!);
  const text = set.documents.map((document) => document.text).join('\n\n');
  const needed = documentUnits + rerankedTexts * passageUnits;
  if (text.length < needed) throw new Error(`${set.name} has less than ${needed} characters of text.`);
  return {
    document: text.slice(0, documentUnits),
    passages: Array.from({ length: rerankedTexts }, (_, i) => {
      const start = documentUnits + i * passageUnits;
      return text.slice(start, start + passageUnits);
    }),
    questions: set.questions.slice(0, questionsMax).map((question) => question.text),
  };
}

async function createLatencySteps(
  { questions, passages }: Texts,
  poolOf: (name: PoolName) => Pick<Pool, 'run'>,
): Promise<LatencyStep[]> {
  const { folder } = getEmbeddingModel(defaultEmbeddingModel);
  const embedder = await StaticEmbedder.open(defaultEmbeddingModel, folder);
  const reranker = await openBuiltInReranker(sharedReranker);
  const questionOf = (index: number) => questions[index % questions.length]!;
  return [
    {
      name: 'embed a query (calling thread)',
      run: (index) => embedder.embed([questionOf(index)], 'query'),
    },
    {
      name: 'embed a query in a worker',
      run: (index) => {
        const task: EmbedTask = {
          model: defaultEmbeddingModel,
          texts: [questionOf(index)],
          inputType: 'query',
        };
        return poolOf('embed').run(task);
      },
    },
    {
      name: `rerank ${rerankedTexts} passages of ${passageUnits} characters`,
      run: (index) => reranker.score(questionOf(index), passages),
    },
  ];
}

async function createSteps(
  { document: text, passages, questions }: Texts,
  folder: string,
): Promise<(Step | InlineStep)[]> {
  const { folder: modelFolder } = getEmbeddingModel(defaultEmbeddingModel);
  const vocabulary = await readFile(join(modelFolder, 'vocabulary.txt'), 'utf8');
  const tokenizer = new WordPiece(vocabulary.trimEnd().split('\n'));
  const textBytes = Buffer.byteLength(text);
  const paragraphs = text.split('\n\n');
  const html = `<!doctype html><title>Page</title><body>${paragraphs.map((words) => `<p>${words}</p>`).join('\n')}`;
  const embedded = passages.slice(0, embeddedTexts);
  const bytesOf = (texts: readonly string[]) => texts.reduce((sum, one) => sum + Buffer.byteLength(one), 0);
  await writeFile(join(folder, 'text'), text);
  await writeFile(join(folder, 'html'), html);
  const parse = (kind: string): Step => ({
    name: `parse (${kind})`,
    pool: 'parse',
    textBytes,
    run: (pool) => callParser(pool, { kind: 'parse', file: join(folder, kind), path: `page.${kind}` }),
  });
  const chunkTask: ChunkTask = {
    pages: [text],
    unordered: false,
    title: null,
    path: 'a.txt',
    language: 'en',
    model: defaultEmbeddingModel,
    cancelFlag: null,
  };
  const embedTask: EmbedTask = { model: defaultEmbeddingModel, texts: embedded, inputType: 'document' };
  const reranker = await openBuiltInReranker(sharedReranker);
  return [
    parse('text'),
    parse('html'),
    {
      name: 'chunk, analyze words and embed',
      pool: 'chunk',
      textBytes,
      run: (pool) => pool.run({ tasks: [chunkTask] } satisfies ChunkBatch),
    },
    {
      name: 'tokenize (calling thread)',
      pool: null,
      textBytes: bytesOf(embedded),
      mbPerCpuSecondLeast: 40,
      run: async () => tokenizer.encodeAll(embedded),
    },
    {
      name: 'tokenize and embed',
      pool: 'embed',
      textBytes: bytesOf(embedded),
      run: (pool) => pool.run(embedTask),
    },
    {
      name: 'rerank',
      pool: null,
      textBytes: bytesOf(passages),
      run: () => reranker.score(questions[0]!, passages),
    },
  ];
}
