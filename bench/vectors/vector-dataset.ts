import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { assert } from '../../src/core/assert.ts';
import { projectRoot } from '../../src/core/root.ts';
import type { BenchContext } from '../harness/bench-case.ts';
import { ClusteredVectors, type Difficulty } from './clustered-vectors.ts';
import type { ExactNeighbors, ExactTask } from './exact-search.ts';
import type { ExactReply } from './exact-worker.ts';
import { filters, makeTags, type TagFilter } from './tags.ts';
import { type VectorFile, withVectorFile, writeVectorFile } from './vector-file.ts';

/**
 * Rows, questions and exact neighbors on disk. Cached between runs, because exact search over a million rows
 * takes minutes.
 */
export interface VectorDataset {
  readonly name: string;
  readonly folder: string;
  readonly rows: number;
  readonly dimensions: number;
  readonly questions: number;
  /** Number of rows and questions of user-supplied files that are not used. */
  readonly unused: { readonly rows: number; readonly questions: number };
}

export interface VectorDatasetOptions {
  readonly seed: number;
  /**
   * Number of generated rows, or of the first rows of `vectorsFile`; null: all of the file, up to
   * `ownBytesMax`.
   */
  readonly rows: number | null;
  readonly dimensions: number;
  readonly questions: number;
  readonly difficulty: Difficulty;
  /** User-supplied file (.npy, .fvecs) instead of generated rows. */
  readonly vectorsFile: string | null;
  /** User-supplied questions; if null, the last rows of `vectorsFile` are held out as questions. */
  readonly questionsFile: string | null;
}

/**
 * Maximum bytes of 32-bit floats read from a file if the number of rows is not given; each engine keeps all
 * of them in memory.
 */
export const ownBytesMax = 2 ** 30;
/** Number of exact neighbors stored per question; no case requests more results. */
export const groundTruthDepth = 100;
/** Increase if the generator, the tags or the exact search change, so that outdated caches are not used. */
const formatVersion = 2;
const blockRows = 1_024;
export const cacheFolder = join(projectRoot, 'bench', '.cache');

/** Data that a measuring process needs: the questions, their exact neighbors, the tags. */
export interface LoadedVectorDataset extends VectorDataset {
  readonly vectorsPath: string;
  readonly questionRows: Float32Array;
  readonly tags: Uint8Array;
  /** Exact neighbors without a filter, then by filter; see `exactSearch`. */
  readonly answers: readonly ExactNeighbors[];
}

export async function loadVectorDataset(set: VectorDataset): Promise<LoadedVectorDataset> {
  const tags = await readFile(join(set.folder, 'tags.u8'));
  const rows = new Int32Array(await bytesOf(join(set.folder, 'answers.i32')));
  const scores = new Float64Array(await bytesOf(join(set.folder, 'scores.f64')));
  const each = set.questions * groundTruthDepth;
  assert(rows.length === each * (1 + filters.length), 'the answers belong to the questions');
  assert(scores.length === rows.length, 'every answer has its similarity');
  const questionsPath = join(set.folder, 'questions.npy');
  return {
    ...set,
    vectorsPath: join(set.folder, 'vectors.npy'),
    questionRows: await withVectorFile(questionsPath, (file) => file.read(0, set.questions)),
    tags,
    answers: Array.from({ length: 1 + filters.length }, (_, i) =>
      sliceNeighbors({ rows, scores }, i * each, each),
    ),
  };
}

async function bytesOf(path: string): Promise<ArrayBuffer> {
  const bytes = await readFile(path);
  // A copy, because the offset of a typed array must be a multiple of its element size.
  return Uint8Array.from(bytes).buffer;
}

function sliceNeighbors({ rows, scores }: ExactNeighbors, from: number, count: number): ExactNeighbors {
  return { rows: rows.subarray(from, from + count), scores: scores.subarray(from, from + count) };
}

/** Returns all stored exact neighbors of one question. */
export function exactNeighborsOf(
  set: Pick<LoadedVectorDataset, 'answers'>,
  filter: TagFilter | null,
  question: number,
): ExactNeighbors {
  const all = set.answers[filter === null ? 0 : 1 + filters.indexOf(filter)]!;
  return sliceNeighbors(all, question * groundTruthDepth, groundTruthDepth);
}

/** Creates the dataset, or returns the cached one. An interrupted run leaves no partial dataset. */
export async function prepareVectorDataset(
  options: VectorDatasetOptions,
  context: BenchContext,
): Promise<VectorDataset> {
  const size = await readSize(options);
  const name = await datasetName(options, size);
  const folder = join(cacheFolder, name);
  const metadataFile = join(folder, 'set.json');
  const cachedMetadata = await readFile(metadataFile, 'utf8').catch(() => null);
  reportUnused(size, context);
  if (cachedMetadata !== null) return { ...(JSON.parse(cachedMetadata) as VectorDataset), folder };
  await mkdir(cacheFolder, { recursive: true });
  const temporaryFolder = await mkdtemp(join(cacheFolder, 'making-'));
  try {
    context.progress.note(
      `generating the vectors ${name}; vectors and exact answers are cached in bench/.cache`,
    );
    await writeVectors(options, size, temporaryFolder);
    const set: VectorDataset = { ...size, name, folder };
    await writeAnswers({ ...set, folder: temporaryFolder }, options.seed, context);
    await writeFile(join(temporaryFolder, 'set.json'), JSON.stringify(set));
    await rm(folder, { recursive: true, force: true });
    await rename(temporaryFolder, folder);
    return set;
  } finally {
    await rm(temporaryFolder, { recursive: true, force: true });
  }
}

type DatasetSize = Pick<VectorDataset, 'rows' | 'dimensions' | 'questions' | 'unused'>;

/** Returns the number of rows, dimensions and questions to use. */
export async function readSize({
  vectorsFile,
  questionsFile,
  rows: rowsMax,
  dimensions,
  questions: questionsMax,
}: Omit<VectorDatasetOptions, 'seed' | 'difficulty'>): Promise<DatasetSize> {
  if (vectorsFile === null) {
    assert(rowsMax !== null, 'the number of generated vectors is given');
    return { rows: rowsMax, dimensions, questions: questionsMax, unused: { rows: 0, questions: 0 } };
  }
  const vectors = await readShape(vectorsFile);
  const questionShape = questionsFile === null ? null : await readShape(questionsFile);
  if (questionShape !== null && questionShape.dimensions !== vectors.dimensions) {
    throw new Error(
      `${questionsFile} has ${questionShape.dimensions} dimensions, ${vectorsFile} ${vectors.dimensions}.`,
    );
  }
  const questions = Math.min(questionsMax, questionShape?.rows ?? Math.ceil(vectors.rows / 10));
  const rowsAvailable = questionShape === null ? vectors.rows - questions : vectors.rows;
  const rowsThatFit = Math.floor(ownBytesMax / (vectors.dimensions * Float32Array.BYTES_PER_ELEMENT));
  const rows = Math.min(rowsMax ?? rowsThatFit, rowsAvailable);
  const unused = {
    rows: rowsAvailable - rows,
    questions: questionShape === null ? 0 : questionShape.rows - questions,
  };
  return { rows, dimensions: vectors.dimensions, questions, unused };
}

function readShape(path: string): Promise<Pick<VectorFile, 'rows' | 'dimensions'>> {
  return withVectorFile(path, async ({ rows, dimensions }) => ({ rows, dimensions }));
}

function reportUnused({ rows, questions, unused }: DatasetSize, { progress }: BenchContext): void {
  if (unused.rows > 0) {
    progress.note(`only the first ${rows} vectors of the file are used, ${unused.rows} are not (--vectors)`);
  }
  if (unused.questions > 0) {
    progress.note(
      `only the first ${questions} questions of the file are used, ${unused.questions} are not (--questions)`,
    );
  }
}

async function datasetName(
  { vectorsFile, questionsFile, seed, difficulty }: VectorDatasetOptions,
  { rows, dimensions, questions }: DatasetSize,
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

async function writeVectors(options: VectorDatasetOptions, size: DatasetSize, folder: string): Promise<void> {
  const target = { vectors: join(folder, 'vectors.npy'), questions: join(folder, 'questions.npy') };
  const { vectorsFile, questionsFile } = options;
  if (vectorsFile !== null) return copyVectors({ vectorsFile, questionsFile }, size, target);
  const { rows, dimensions, questions } = size;
  const generator = new ClusteredVectors({ ...options, rows });
  await writeVectorFile(target.vectors, { rows, dimensions }, generator.rows(blockRows));
  await writeVectorFile(target.questions, { rows: questions, dimensions }, [generator.questions(questions)]);
}

/** Copies user-supplied vectors, scaled to length 1, because the measured similarity is the cosine. */
async function copyVectors(
  from: { readonly vectorsFile: string; readonly questionsFile: string | null },
  { rows, dimensions, questions }: DatasetSize,
  target: { readonly vectors: string; readonly questions: string },
): Promise<void> {
  await withVectorFile(from.vectorsFile, (file) =>
    writeVectorFile(target.vectors, { rows, dimensions }, unitBlocks(file, rows)),
  );
  const questionRows = await withVectorFile(from.questionsFile ?? from.vectorsFile, (file) =>
    file.read(from.questionsFile === null ? file.rows - questions : 0, questions),
  );
  await writeVectorFile(target.questions, { rows: questions, dimensions }, [
    unitRows(questionRows, dimensions),
  ]);
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
    if (!(length > 0))
      throw new Error('A row of zeros, or with a component that is not finite, cannot be normalized.');
    for (let d = 0; d < dimensions; d++) row[d]! /= length;
  }
  return block;
}

async function writeAnswers(set: VectorDataset, seed: number, context: BenchContext): Promise<void> {
  const vectorsPath = join(set.folder, 'vectors.npy');
  const tags = await withVectorFile(vectorsPath, (file) => makeTags(file, seed, blockRows));
  await writeFile(join(set.folder, 'tags.u8'), tags);
  const rows = await withVectorFile(join(set.folder, 'questions.npy'), (file) => file.read(0, set.questions));
  const threads = Math.min(availableParallelism(), set.questions);
  const parts = Array.from({ length: threads }, (_, i) => {
    const offsetOf = (part: number) => Math.floor((set.questions * part) / threads) * set.dimensions;
    return rows.slice(offsetOf(i), offsetOf(i + 1));
  });
  let done = 0;
  const report = (more: number) => {
    done += more;
    context.progress.update('exact answers', done, set.rows * threads, `of ${set.questions} questions`);
  };
  const found = await Promise.all(
    parts.map((part) =>
      exactAnswers(
        { vectorsPath, tags, questions: part, depth: groundTruthDepth, blockRows },
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
): Promise<readonly ExactNeighbors[]> {
  const worker = new Worker(new URL('./exact-worker.js', import.meta.url), { workerData: task });
  try {
    return await new Promise<readonly ExactNeighbors[]>((resolve, reject) => {
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
