import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { assert } from '../../src/base/assert.ts';
import { projectRoot } from '../../src/base/root.ts';
import type { BenchContext } from '../harness/bench-case.ts';
import { ClusteredVectors, type Difficulty } from './clustered-vectors.ts';
import type { ExactTask } from './exact-search.ts';
import type { ExactReply } from './exact-worker.ts';
import { type Filter, filters, makeTags } from './tags.ts';
import { openVectorFile, type VectorFile, withVectorFile, writeVectorFile } from './vector-file.ts';

/** Rows, questions and exact answers, on disk. Kept from run to run: the answers of a million rows take minutes. */
export interface VectorSet {
  readonly name: string;
  readonly folder: string;
  readonly rows: number;
  readonly dimensions: number;
  readonly questions: number;
}

export interface VectorSetOptions {
  readonly seed: number;
  readonly rows: number;
  readonly dimensions: number;
  readonly questions: number;
  readonly difficulty: Difficulty;
  /** A file of one's own (.npy, .fvecs) instead of generated rows; `rows` of it at most. */
  readonly vectorsFile: string | null;
  /** Questions of one's own; without, the last rows of `vectorsFile` are held out as questions. */
  readonly questionsFile: string | null;
}

/** Right answers kept per question; no case asks for more results. */
export const truthDepth = 100;
/** Raise it when the generator, the tags or the exact search change, so that no old answer is believed. */
const formatVersion = 1;
const blockRows = 1_024;
export const cacheFolder = join(projectRoot, 'bench', '.cache');

/** What a process needs to measure: the questions, their exact answers, the tags. */
export interface LoadedSet extends VectorSet {
  readonly vectorsPath: string;
  readonly questionRows: Float32Array;
  readonly tags: Uint8Array;
  /** Exact answers without a filter, then by filter; see exactSearch. */
  readonly answers: readonly Int32Array[];
}

export async function loadVectorSet(set: VectorSet): Promise<LoadedSet> {
  const tags = await readFile(join(set.folder, 'tags.u8'));
  const truth = await readFile(join(set.folder, 'answers.i32'));
  const all = new Int32Array(truth.buffer, truth.byteOffset, truth.length / 4);
  const each = set.questions * truthDepth;
  assert(all.length === each * (1 + filters.length), 'the answers belong to the questions');
  const questionsPath = join(set.folder, 'questions.npy');
  return {
    ...set,
    vectorsPath: join(set.folder, 'vectors.npy'),
    questionRows: await withVectorFile(questionsPath, (file) => file.read(0, set.questions)),
    tags,
    answers: Array.from({ length: 1 + filters.length }, (_, i) => all.subarray(i * each, (i + 1) * each)),
  };
}

/** The exact answers of one question: rows, best first; fewer than `count` when fewer match. */
export function exactAnswer(
  set: Pick<LoadedSet, 'answers'>,
  filter: Filter | null,
  question: number,
  count: number,
): Int32Array {
  const all = set.answers[filter === null ? 0 : 1 + filters.indexOf(filter)]!;
  const rows = all.subarray(question * truthDepth, question * truthDepth + Math.min(count, truthDepth));
  const end = rows.indexOf(-1);
  return end < 0 ? rows : rows.subarray(0, end);
}

/** Makes the set, or finds it made. A run that is interrupted leaves no half of one. */
export async function prepareVectorSet(options: VectorSetOptions, context: BenchContext): Promise<VectorSet> {
  const name = await nameOf(options);
  const folder = join(cacheFolder, name);
  const facts = join(folder, 'set.json');
  const known = await readFile(facts, 'utf8').catch(() => null);
  if (known !== null) return { ...(JSON.parse(known) as VectorSet), folder };
  await mkdir(cacheFolder, { recursive: true });
  const making = await mkdtemp(join(cacheFolder, 'making-'));
  try {
    context.progress.note(
      `making the vectors ${name}; they and their exact answers are kept in bench/.cache`,
    );
    const size = await writeVectors(options, making);
    const set: VectorSet = { ...size, name, folder };
    await writeAnswers({ ...set, folder: making }, options.seed, context);
    await writeFile(join(making, 'set.json'), JSON.stringify(set));
    await rm(folder, { recursive: true, force: true });
    await rename(making, folder);
    return set;
  } finally {
    await rm(making, { recursive: true, force: true });
  }
}

async function nameOf(options: VectorSetOptions): Promise<string> {
  const { vectorsFile, questionsFile, rows, dimensions, questions, seed, difficulty } = options;
  if (vectorsFile === null) {
    return `${difficulty}-${rows}x${dimensions}-questions-${questions}-seed-${seed}-v${formatVersion}`;
  }
  const hash = createHash('sha256');
  for (const path of [vectorsFile, questionsFile].filter((one) => one !== null)) {
    const { size, mtimeMs } = await stat(path);
    hash.update(`${path}\0${size}\0${mtimeMs}\0`);
  }
  return `own-${hash.digest('hex').slice(0, 16)}-${rows}-questions-${questions}-seed-${seed}-v${formatVersion}`;
}

type Size = Pick<VectorSet, 'rows' | 'dimensions' | 'questions'>;

async function writeVectors(options: VectorSetOptions, folder: string): Promise<Size> {
  const target = { vectors: join(folder, 'vectors.npy'), questions: join(folder, 'questions.npy') };
  if (options.vectorsFile !== null) return copyVectors(options, options.vectorsFile, target);
  const { rows, dimensions, questions } = options;
  const made = new ClusteredVectors(options);
  await writeVectorFile(target.vectors, { rows, dimensions }, made.rows(blockRows));
  await writeVectorFile(target.questions, { rows: questions, dimensions }, [made.questions(questions)]);
  return { rows, dimensions, questions };
}

/** Files of one's own: every row is scaled to length 1, because cosine is what is measured. */
async function copyVectors(
  options: VectorSetOptions,
  vectorsPath: string,
  target: { readonly vectors: string; readonly questions: string },
): Promise<Size> {
  const vectors = await openVectorFile(vectorsPath);
  const own = options.questionsFile === null ? null : await openVectorFile(options.questionsFile);
  try {
    const { dimensions } = vectors;
    if (own !== null && own.dimensions !== dimensions) {
      throw new Error(`${own.path} has ${own.dimensions} dimensions, ${vectors.path} ${dimensions}.`);
    }
    const questions = Math.min(options.questions, own?.rows ?? Math.ceil(vectors.rows / 10));
    const rows = Math.min(options.rows, own === null ? vectors.rows - questions : vectors.rows);
    await writeVectorFile(target.vectors, { rows, dimensions }, unitBlocks(vectors, rows));
    const asked = await (own === null
      ? vectors.read(vectors.rows - questions, questions)
      : own.read(0, questions));
    await writeVectorFile(target.questions, { rows: questions, dimensions }, [unitRows(asked, dimensions)]);
    return { rows, dimensions, questions };
  } finally {
    await vectors.close();
    await own?.close();
  }
}

async function* unitBlocks(vectors: VectorFile, rows: number): AsyncGenerator<Float32Array> {
  for (let first = 0; first < rows; first += blockRows) {
    yield unitRows(await vectors.read(first, Math.min(blockRows, rows - first)), vectors.dimensions);
  }
}

function unitRows(block: Float32Array, dimensions: number): Float32Array {
  for (let at = 0; at < block.length; at += dimensions) {
    const row = block.subarray(at, at + dimensions);
    const length = Math.sqrt(row.reduce((sum, value) => sum + value * value, 0));
    if (!(length > 0)) throw new Error('A row of zeros, or of what is no number, has no direction.');
    for (let d = 0; d < dimensions; d++) row[d]! /= length;
  }
  return block;
}

async function writeAnswers(set: VectorSet, seed: number, context: BenchContext): Promise<void> {
  const vectorsPath = join(set.folder, 'vectors.npy');
  const tags = await withVectorFile(vectorsPath, (file) => makeTags(file, seed, blockRows));
  await writeFile(join(set.folder, 'tags.u8'), tags);
  const rows = await withVectorFile(join(set.folder, 'questions.npy'), (file) => file.read(0, set.questions));
  const threads = Math.min(availableParallelism(), set.questions);
  const parts = Array.from({ length: threads }, (_, i) => {
    const edge = (part: number) => Math.floor((set.questions * part) / threads) * set.dimensions;
    return rows.slice(edge(i), edge(i + 1));
  });
  let done = 0;
  const report = (more: number) => {
    done += more;
    context.progress.update('exact answers', done, set.rows * threads, `of ${set.questions} questions`);
  };
  const found = await Promise.all(
    parts.map((part) =>
      exactAnswers(
        { vectorsPath, tags, questions: part, depth: truthDepth, blockRows },
        report,
        context.signal,
      ),
    ),
  );
  const bytes = [0, ...filters.map((_, i) => i + 1)].flatMap((which) =>
    found.map((answers) => new Uint8Array(answers[which]!.slice().buffer)),
  );
  await writeFile(join(set.folder, 'answers.i32'), Buffer.concat(bytes));
}

async function exactAnswers(
  task: ExactTask,
  onRows: (rows: number) => void,
  signal: AbortSignal,
): Promise<readonly Int32Array[]> {
  const worker = new Worker(new URL('./exact-worker.js', import.meta.url), { workerData: task });
  try {
    return await new Promise<readonly Int32Array[]>((resolve, reject) => {
      worker.on('message', (reply: ExactReply) => {
        if ('answers' in reply) resolve(reply.answers);
        else onRows(reply.rows);
      });
      worker.once('error', reject);
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  } finally {
    await worker.terminate();
  }
}
