import { access, readdir } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { AppError } from '../base/app-error.ts';
import { linesOf, readRecords, wrongLine } from './json-lines.ts';

/** Documents, and questions with the grade of each document that answers them. */
export interface JudgedSet {
  readonly name: string;
  readonly documents: readonly JudgedDocument[];
  readonly questions: readonly JudgedQuestion[];
}

export interface JudgedDocument {
  readonly id: string;
  /** The title, if there is one, on a line of its own, then the text. */
  readonly text: string;
}

export interface JudgedQuestion {
  readonly id: string;
  readonly text: string;
  /** By id of the document; all are above 0 and of documents that are there. */
  readonly grades: ReadonlyMap<string, number>;
}

const corpusFile = 'corpus.jsonl';

/** The folder itself when it is a set, otherwise the sets in it, by name. AppError `bad_request` when there is none. */
export async function judgedFolders(folder: string): Promise<string[]> {
  if (await exists(join(folder, corpusFile))) return [resolve(folder)];
  const entries = await readdir(folder, { withFileTypes: true }).catch((cause: Error) => {
    throw new AppError('bad_request', `The folder ${folder} cannot be read: ${cause.message}.`, { cause });
  });
  const found: string[] = [];
  for (const { name } of entries.filter((entry) => entry.isDirectory())) {
    if (await exists(join(folder, name, corpusFile))) found.push(resolve(folder, name));
  }
  if (found.length > 0) return found.sort();
  throw new AppError(
    'bad_request',
    `Neither ${folder} nor a folder in it has a ${corpusFile}: a set in BEIR layout is corpus.jsonl, queries.jsonl and qrels/test.tsv.`,
  );
}

/**
 * Reads a set in BEIR layout: corpus.jsonl (`_id`, `title`, `text`), queries.jsonl (`_id`, `text`) and
 * qrels/<split>.tsv (question, document, grade, below a heading). Questions without a document that answers them are
 * left out. AppError `bad_request` names the file and line of what is wrong.
 */
export async function readJudgedSet(folder: string, split = 'test'): Promise<JudgedSet> {
  const corpus = await readRecords(join(folder, corpusFile));
  const queries = await readRecords(join(folder, 'queries.jsonl'));
  const known = new Set(corpus.map(({ _id }) => _id));
  const file = join(folder, 'qrels', `${split}.tsv`);
  const grades = gradesOf(await linesOf(file), file, known);
  const questions = queries.flatMap(({ _id, text }) => {
    const own = grades.get(_id);
    return own === undefined ? [] : [{ id: _id, text, grades: own }];
  });
  if (questions.length === 0) {
    throw new AppError('bad_request', `${file} judges no question of queries.jsonl: the ids do not meet.`);
  }
  const documents = corpus.map(({ _id, title, text }) => ({
    id: _id,
    text: typeof title !== 'string' || title === '' ? text : `${title}\n${text}`,
  }));
  return { name: basename(resolve(folder)), documents, questions };
}

/** At most so many of them, evenly spaced. */
export function evenlySpaced<T>(items: readonly T[], most: number): T[] {
  const every = Math.max(1, items.length / most);
  return items.filter((_, i) => Math.floor(i / every) !== Math.floor((i - 1) / every));
}

function gradesOf(
  lines: readonly string[],
  file: string,
  known: ReadonlySet<string>,
): Map<string, Map<string, number>> {
  const grades = new Map<string, Map<string, number>>();
  for (const [i, line] of lines.entries()) {
    const [question, document, grade] = line.split('\t');
    const value = Number(grade);
    if (question === undefined || document === undefined || grade === undefined || Number.isNaN(value)) {
      // The heading is the one line that may have no number.
      if (i === 0) continue;
      throw wrongLine(file, i, 'a line is question, document and grade, separated by tabs');
    }
    if (value <= 0 || !known.has(document)) continue;
    grades.set(question, (grades.get(question) ?? new Map<string, number>()).set(document, value));
  }
  return grades;
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
