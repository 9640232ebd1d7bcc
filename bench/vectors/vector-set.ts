import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { assert } from '../../src/base/assert.ts';
import { projectRoot } from '../../src/base/root.ts';
import type { BenchContext } from '../harness/bench-case.ts';
import { ClusteredVectors, type Difficulty } from './clustered-vectors.ts';
import type { ExactAnswers, ExactTask } from './exact-search.ts';
import type { ExactReply } from './exact-worker.ts';
import { type Filter, filters, makeTags } from './tags.ts';
import { type VectorFile, withVectorFile, writeVectorFile } from './vector-file.ts';

/** Rows, questions and exact answers, on disk. Kept from run to run: the answers of a million rows take minutes. */
export interface VectorSet {
  readonly name: string;
  readonly folder: string;
  readonly rows: number;
  readonly dimensions: number;
  readonly questions: number;
  /** Rows and questions of one's own files that were left out. */
  readonly unused: { readonly rows: number; readonly questions: number };
}

export interface VectorSetOptions {
  readonly seed: number;
  /** Generated rows, or the first ones of `vectorsFile`; null: all of the file, up to `ownBytesMax`. */
  readonly rows: number | null;
  readonly dimensions: number;
  readonly questions: number;
  readonly difficulty: Difficulty;
  /** A file of one's own (.npy, .fvecs) instead of generated rows. */
  readonly vectorsFile: string | null;
  /** Questions of one's own; without, the last rows of `vectorsFile` are held out as questions. */
  readonly questionsFile: string | null;
}

/** 32-bit floats taken of a file when nobody says how many rows: each engine holds them all at once. */
export const ownBytesMax = 2 ** 30;
/** Right answers kept per question; no case asks for more results. */
export const truthDepth = 100;
/** Raise it when the generator, the tags or the exact search change, so that no old answer is believed. */
const formatVersion = 2;
const blockRows = 1_024;
export const cacheFolder = join(projectRoot, 'bench', '.cache');

/** What a process needs to measure: the questions, their exact answers, the tags. */
export interface LoadedSet extends VectorSet {
  readonly vectorsPath: string;
  readonly questionRows: Float32Array;
  readonly tags: Uint8Array;
  /** Exact answers without a filter, then by filter; see exactSearch. */
  readonly answers: readonly ExactAnswers[];
}

export async function loadVectorSet(set: VectorSet): Promise<LoadedSet> {
  const tags = await readFile(join(set.folder, 'tags.u8'));
  const rows = new Int32Array(await bytesOf(join(set.folder, 'answers.i32')));
  const scores = new Float64Array(await bytesOf(join(set.folder, 'scores.f64')));
  const each = set.questions * truthDepth;
  assert(rows.length === each * (1 + filters.length), 'the answers belong to the questions');
  assert(scores.length === rows.length, 'every answer has its similarity');
  const questionsPath = join(set.folder, 'questions.npy');
  return {
    ...set,
    vectorsPath: join(set.folder, 'vectors.npy'),
    questionRows: await withVectorFile(questionsPath, (file) => file.read(0, set.questions)),
    tags,
    answers: Array.from({ length: 1 + filters.length }, (_, i) => part({ rows, scores }, i * each, each)),
  };
}

async function bytesOf(path: string): Promise<ArrayBuffer> {
  const bytes = await readFile(path);
  // A copy of its own: a view of numbers must begin at a multiple of their size.
  return Uint8Array.from(bytes).buffer;
}

function part({ rows, scores }: ExactAnswers, from: number, count: number): ExactAnswers {
  return { rows: rows.subarray(from, from + count), scores: scores.subarray(from, from + count) };
}

/** The exact answers of one question, as many as are kept. */
export function exactAnswer(
  set: Pick<LoadedSet, 'answers'>,
  filter: Filter | null,
  question: number,
): ExactAnswers {
  const all = set.answers[filter === null ? 0 : 1 + filters.indexOf(filter)]!;
  return part(all, question * truthDepth, truthDepth);
}

/** Makes the set, or finds it made. A run that is interrupted leaves no half of one. */
export async function prepareVectorSet(options: VectorSetOptions, context: BenchContext): Promise<VectorSet> {
  const size = await sizeOf(options);
  const name = await nameOf(options, size);
  const folder = join(cacheFolder, name);
  const facts = join(folder, 'set.json');
  const known = await readFile(facts, 'utf8').catch(() => null);
  tellUnused(size, context);
  if (known !== null) return { ...(JSON.parse(known) as VectorSet), folder };
  await mkdir(cacheFolder, { recursive: true });
  const making = await mkdtemp(join(cacheFolder, 'making-'));
  try {
    context.progress.note(
      `making the vectors ${name}; they and their exact answers are kept in bench/.cache`,
    );
    await writeVectors(options, size, making);
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

type Size = Pick<VectorSet, 'rows' | 'dimensions' | 'questions' | 'unused'>;

/** How much of what there is is used. */
export async function sizeOf({
  vectorsFile,
  questionsFile,
  rows: rowsMost,
  dimensions,
  questions: questionsMost,
}: Omit<VectorSetOptions, 'seed' | 'difficulty'>): Promise<Size> {
  if (vectorsFile === null) {
    assert(rowsMost !== null, 'somebody says how many vectors are generated');
    return { rows: rowsMost, dimensions, questions: questionsMost, unused: { rows: 0, questions: 0 } };
  }
  const vectors = await shapeOf(vectorsFile);
  const asked = questionsFile === null ? null : await shapeOf(questionsFile);
  if (asked !== null && asked.dimensions !== vectors.dimensions) {
    throw new Error(
      `${questionsFile} has ${asked.dimensions} dimensions, ${vectorsFile} ${vectors.dimensions}.`,
    );
  }
  const questions = Math.min(questionsMost, asked?.rows ?? Math.ceil(vectors.rows / 10));
  const there = asked === null ? vectors.rows - questions : vectors.rows;
  const fitting = Math.floor(ownBytesMax / (vectors.dimensions * Float32Array.BYTES_PER_ELEMENT));
  const rows = Math.min(rowsMost ?? fitting, there);
  const unused = { rows: there - rows, questions: asked === null ? 0 : asked.rows - questions };
  return { rows, dimensions: vectors.dimensions, questions, unused };
}

function shapeOf(path: string): Promise<Pick<VectorFile, 'rows' | 'dimensions'>> {
  return withVectorFile(path, async ({ rows, dimensions }) => ({ rows, dimensions }));
}

function tellUnused({ rows, questions, unused }: Size, { progress }: BenchContext): void {
  if (unused.rows > 0) {
    progress.note(`only the first ${rows} vectors of the file are used, ${unused.rows} are not (--vectors)`);
  }
  if (unused.questions > 0) {
    progress.note(
      `only the first ${questions} questions of the file are used, ${unused.questions} are not (--questions)`,
    );
  }
}

async function nameOf(
  { vectorsFile, questionsFile, seed, difficulty }: VectorSetOptions,
  { rows, dimensions, questions }: Size,
): Promise<string> {
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

async function writeVectors(options: VectorSetOptions, size: Size, folder: string): Promise<void> {
  const target = { vectors: join(folder, 'vectors.npy'), questions: join(folder, 'questions.npy') };
  const { vectorsFile, questionsFile } = options;
  if (vectorsFile !== null) return copyVectors({ vectorsFile, questionsFile }, size, target);
  const { rows, dimensions, questions } = size;
  const made = new ClusteredVectors({ ...options, rows });
  await writeVectorFile(target.vectors, { rows, dimensions }, made.rows(blockRows));
  await writeVectorFile(target.questions, { rows: questions, dimensions }, [made.questions(questions)]);
}

/** Files of one's own: every row is scaled to length 1, because cosine is what is measured. */
async function copyVectors(
  from: { readonly vectorsFile: string; readonly questionsFile: string | null },
  { rows, dimensions, questions }: Size,
  target: { readonly vectors: string; readonly questions: string },
): Promise<void> {
  await withVectorFile(from.vectorsFile, (file) =>
    writeVectorFile(target.vectors, { rows, dimensions }, unitBlocks(file, rows)),
  );
  const asked = await withVectorFile(from.questionsFile ?? from.vectorsFile, (file) =>
    file.read(from.questionsFile === null ? file.rows - questions : 0, questions),
  );
  await writeVectorFile(target.questions, { rows: questions, dimensions }, [unitRows(asked, dimensions)]);
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
  const cases = [0, ...filters.map((_, i) => i + 1)];
  const joined = (values: 'rows' | 'scores') =>
    Buffer.concat(
      cases.flatMap((which) =>
        found.map((answers) => {
          const { buffer, byteOffset, byteLength } = answers[which]![values];
          return new Uint8Array(buffer, byteOffset, byteLength);
        }),
      ),
    );
  await writeFile(join(set.folder, 'answers.i32'), joined('rows'));
  await writeFile(join(set.folder, 'scores.f64'), joined('scores'));
}

async function exactAnswers(
  task: ExactTask,
  onRows: (rows: number) => void,
  signal: AbortSignal,
): Promise<readonly ExactAnswers[]> {
  const worker = new Worker(new URL('./exact-worker.js', import.meta.url), { workerData: task });
  try {
    return await new Promise<readonly ExactAnswers[]>((resolve, reject) => {
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
