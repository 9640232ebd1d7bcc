import { access, readdir } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { AppError } from '../core/app-error.ts';
import { invalidLineError, readJsonRecords, readLines } from './json-lines.ts';

/** Documents, and questions with relevance grades of documents. */
export interface JudgedSet {
  readonly name: string;
  readonly documents: readonly JudgedDocument[];
  readonly questions: readonly JudgedQuestion[];
}

export interface JudgedDocument {
  readonly id: string;
  /** The title, if any, on a line of its own, followed by the text. */
  readonly text: string;
}

export interface JudgedQuestion {
  readonly id: string;
  readonly text: string;
  /** Grades by document id; all grades are above 0 and all ids are in the set. */
  readonly grades: ReadonlyMap<string, number>;
}

const corpusFile = 'corpus.jsonl';

/**
 * Returns the folder itself if it is a set, otherwise the sets in it, sorted by name. Errors: AppError
 * `bad_request` if there is none.
 */
export async function findJudgedFolders(folder: string): Promise<string[]> {
  if (await fileExists(join(folder, corpusFile))) return [resolve(folder)];
  const entries = await readdir(folder, { withFileTypes: true }).catch((cause: Error) => {
    throw new AppError('bad_request', `The folder ${folder} cannot be read: ${cause.message}.`, { cause });
  });
  const folders: string[] = [];
  for (const { name } of entries.filter((entry) => entry.isDirectory())) {
    if (await fileExists(join(folder, name, corpusFile))) folders.push(resolve(folder, name));
  }
  if (folders.length > 0) return folders.sort();
  throw new AppError(
    'bad_request',
    `No ${corpusFile} found in ${folder} or its subfolders. A set in BEIR layout has corpus.jsonl, queries.jsonl and qrels/test.tsv.`,
  );
}

/**
 * Reads a set in BEIR layout: corpus.jsonl (`_id`, `title`, `text`), queries.jsonl (`_id`, `text`) and
 * qrels/<split>.tsv (question, document, grade, below a header line). Questions without a relevant document
 * are dropped. Errors: AppError `bad_request` with file and line.
 */
export async function readJudgedSet(folder: string, split = 'test'): Promise<JudgedSet> {
  const corpus = await readJsonRecords(join(folder, corpusFile));
  const queries = await readJsonRecords(join(folder, 'queries.jsonl'));
  const documentIds = new Set(corpus.map(({ _id }) => _id));
  const file = join(folder, 'qrels', `${split}.tsv`);
  const grades = parseGrades(await readLines(file), file, documentIds);
  const questions = queries.flatMap(({ _id, text }) => {
    const questionGrades = grades.get(_id);
    return questionGrades === undefined ? [] : [{ id: _id, text, grades: questionGrades }];
  });
  if (questions.length === 0) {
    throw new AppError(
      'bad_request',
      `${file} contains no judgment for any query in queries.jsonl. Check that the IDs match.`,
    );
  }
  const documents = corpus.map(({ _id, title, text }) => ({
    id: _id,
    text: typeof title !== 'string' || title === '' ? text : `${title}\n${text}`,
  }));
  return { name: basename(resolve(folder)), documents, questions };
}

/** Returns at most `itemsMax` items, evenly spaced. */
export function sampleEvenly<T>(items: readonly T[], itemsMax: number): T[] {
  const every = Math.max(1, items.length / itemsMax);
  return items.filter((_, i) => Math.floor(i / every) !== Math.floor((i - 1) / every));
}

function parseGrades(
  lines: readonly string[],
  file: string,
  documentIds: ReadonlySet<string>,
): Map<string, Map<string, number>> {
  const grades = new Map<string, Map<string, number>>();
  for (const [i, line] of lines.entries()) {
    const [question, document, grade] = line.split('\t');
    const value = Number(grade);
    if (question === undefined || document === undefined || grade === undefined || Number.isNaN(value)) {
      // Only the header line may have no number.
      if (i === 0) continue;
      throw invalidLineError(file, i, 'expected: query ID, document ID and grade, separated by tabs');
    }
    if (value <= 0 || !documentIds.has(document)) continue;
    grades.set(question, (grades.get(question) ?? new Map<string, number>()).set(document, value));
  }
  return grades;
}

async function fileExists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
