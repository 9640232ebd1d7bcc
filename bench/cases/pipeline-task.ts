import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ChunkBatch, ChunkTask } from '../../src/chunking/chunk-task.ts';
import { defaultEmbeddingModel, type EmbedTask, embeddingModel } from '../../src/models/registry.ts';
import { callParser } from '../../src/pipeline/parser-call.ts';
import { Pool, type PoolName } from '../../src/pipeline/pools.ts';
import { WordPiece } from '../../src/text/wordpiece.ts';
import { Corpus } from '../harness/corpus.ts';
import { interleaved } from '../harness/rounds.ts';

/** Runs each worker pool of the pipeline alone; in a process of its own. */

export interface PipelineInput {
  readonly seed: number;
  readonly seconds: number;
  readonly rounds: number;
}

export interface PipelineOutput {
  readonly steps: readonly {
    readonly name: string;
    readonly threads: number;
    /** Megabytes of text per second, round by round. */
    readonly mbPerSecond: readonly number[];
  }[];
}

interface Step {
  readonly name: string;
  readonly pool: PoolName;
  readonly textBytes: number;
  readonly run: (pool: Pick<Pool, 'run'>) => Promise<unknown>;
}

/** Work on the calling thread, measured as if it had a pool of one. */
interface InlineStep extends Omit<Step, 'pool'> {
  readonly pool: null;
}

const queueTasksMax = 64;
const rerankedTexts = 50;
const embeddedTexts = 32;

export default async function pipeline({ seed, seconds, rounds }: PipelineInput): Promise<PipelineOutput> {
  const folder = await mkdtemp(join(tmpdir(), 'quarry-bench-pipeline-'));
  const cores = availableParallelism();
  const counts = cores === 1 ? [1] : [1, cores];
  const names: readonly PoolName[] = ['parse', 'chunk', 'embed', 'rerank'];
  const pools = counts.flatMap((threads) => names.map((name) => new Pool({ name, threads, queueTasksMax })));
  try {
    const steps = await stepsOf(seed, folder);
    const configurations = steps.flatMap((step) =>
      (step.pool === null ? [1] : counts).map((threads) => ({
        ...{ step, threads, mbPerSecond: [] as number[] },
        pool: pools.find((pool) => pool.name === step.pool && pool.threads === threads) ?? null,
      })),
    );
    for (const { step, pool } of configurations) await rateOf(step, pool, seconds / 4);
    for (const { configuration } of interleaved(configurations, rounds, seed)) {
      configuration.mbPerSecond.push(await rateOf(configuration.step, configuration.pool, seconds));
    }
    return {
      steps: configurations.map(({ step, threads, mbPerSecond }) => ({
        name: step.name,
        threads,
        mbPerSecond,
      })),
    };
  } finally {
    await Promise.all(pools.map((pool) => pool.close()));
    await rm(folder, { recursive: true, force: true });
  }
}

const noPool: Pick<Pool, 'run'> = {
  run: () => Promise.reject(new Error('This step has no pool.')),
};

/** As many tasks at once as there are threads, and one that waits. */
async function rateOf(step: Step | InlineStep, pool: Pool | null, seconds: number): Promise<number> {
  const start = performance.now();
  let tasks = 0;
  const lane = async () => {
    do {
      await step.run(pool ?? noPool);
      tasks += 1;
    } while (performance.now() - start < seconds * 1_000);
  };
  await Promise.all(Array.from({ length: pool === null ? 1 : pool.threads + 1 }, lane));
  return (tasks * step.textBytes) / 1_000 / (performance.now() - start);
}

async function stepsOf(seed: number, folder: string): Promise<(Step | InlineStep)[]> {
  const { folder: modelFolder } = embeddingModel(defaultEmbeddingModel);
  const vocabulary = await readFile(join(modelFolder, 'vocabulary.txt'), 'utf8');
  const tokenizer = new WordPiece(vocabulary.trimEnd().split('\n'));
  const corpus = new Corpus({ seed, documents: 200, wordsPerDocument: 8_000 });
  const { text } = corpus.document(0);
  const textBytes = Buffer.byteLength(text);
  const paragraphs = text.split('\n\n');
  const html = `<!doctype html><title>Page</title><body>${paragraphs.map((words) => `<p>${words}</p>`).join('\n')}`;
  const chunks = Array.from({ length: rerankedTexts }, (_, i) => corpus.document(i + 1).text.slice(0, 2_000));
  const embedded = chunks.slice(0, embeddedTexts);
  const bytesOf = (texts: readonly string[]) => texts.reduce((sum, one) => sum + Buffer.byteLength(one), 0);
  await writeFile(join(folder, 'text'), text);
  await writeFile(join(folder, 'html'), html);
  const parse = (kind: string): Step => ({
    ...{ name: `parse (${kind})`, pool: 'parse', textBytes },
    run: (pool) =>
      callParser(pool, { kind: 'parse', file: join(folder, kind), folder, path: `page.${kind}` }),
  });
  const chunkTask: ChunkTask = {
    ...{ pages: [text], unordered: false, title: null, path: 'a.txt', language: 'en' },
    model: defaultEmbeddingModel,
    stop: null,
  };
  const embedTask: EmbedTask = { model: defaultEmbeddingModel, texts: embedded, inputType: 'document' };
  const rerankTask = { model: 'zerank-2', query: corpus.question(0), documents: chunks };
  return [
    parse('text'),
    parse('html'),
    {
      name: 'chunk, analyse words and embed',
      pool: 'chunk',
      textBytes,
      run: (pool) => pool.run({ tasks: [chunkTask] } satisfies ChunkBatch),
    },
    {
      ...{ name: 'tokenise (calling thread)', pool: null, textBytes: bytesOf(embedded) },
      run: async () => tokenizer.encodeAll(embedded),
    },
    {
      ...{ name: 'tokenise and embed', pool: 'embed', textBytes: bytesOf(embedded) },
      run: (pool) => pool.run(embedTask),
    },
    { name: 'rerank', pool: 'rerank', textBytes: bytesOf(chunks), run: (pool) => pool.run(rerankTask) },
  ];
}
