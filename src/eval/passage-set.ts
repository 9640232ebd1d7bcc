import { readdir } from 'node:fs/promises';
import { basename, join, parse, resolve } from 'node:path';
import { AppError } from '../core/app-error.ts';
import { invalidLineError, readJsonRecords, readText } from './json-lines.ts';
import type { DocumentSpan } from './passage-measures.ts';

/** Documents, and questions with the passages that answer them. */
export interface PassageSet {
  readonly name: string;
  readonly documents: readonly PassageDocument[];
  readonly questions: readonly PassageQuestion[];
}

export interface PassageDocument {
  readonly id: string;
  readonly text: string;
}

export interface PassageQuestion {
  readonly id: string;
  readonly text: string;
  /** At least one passage. */
  readonly passages: readonly DocumentSpan[];
}

const queriesFile = 'queries.jsonl';

/**
 * Reads `corpora/<document>.md` (or .txt) and queries.jsonl: `_id`, `text`, `corpus` (name of the document)
 * and `spans`, a list of `{"start_index", "end_index", "content"}` in code points, half-open; `content` is
 * optional, but must equal the text of the span. Errors: AppError `bad_request` with file and line.
 */
export async function readPassageSet(folder: string): Promise<PassageSet> {
  const documents = await readDocuments(join(folder, 'corpora'));
  const codePointsById = new Map(documents.map(({ id, text }) => [id, [...text]]));
  const file = join(folder, queriesFile);
  const questions = (await readJsonRecords(file)).map(({ _id, text, corpus, spans }, line) => {
    const document = codePointsById.get(String(corpus));
    if (document === undefined)
      throw invalidLineError(file, line, `unknown document in "corpus": ${String(corpus)}`);
    if (!Array.isArray(spans) || spans.length === 0)
      throw invalidLineError(file, line, '"spans" must contain at least one span');
    const passages = spans.map((span: unknown) => {
      const parsed = parseSpan(span, document);
      if (typeof parsed === 'string') throw invalidLineError(file, line, parsed);
      return { document: String(corpus), ...parsed };
    });
    return { id: _id, text, passages };
  });
  if (questions.length === 0) throw new AppError('bad_request', `${file} has no questions.`);
  return { name: basename(resolve(folder)), documents, questions };
}

async function readDocuments(folder: string): Promise<PassageDocument[]> {
  const names = await readdir(folder).catch((cause: Error) => {
    throw new AppError('bad_request', `The folder ${folder} cannot be read: ${cause.message}.`, { cause });
  });
  const documents: PassageDocument[] = [];
  for (const name of names.filter((one) => /\.(md|txt)$/u.test(one)).sort()) {
    documents.push({ id: parse(name).name, text: await readText(join(folder, name)) });
  }
  return documents;
}

/** Returns the validated span, or a description of the problem. */
function parseSpan(span: unknown, document: readonly string[]): { start: number; end: number } | string {
  const { start_index: start, end_index: end, content } = (span ?? {}) as Record<string, unknown>;
  if (!Number.isInteger(start) || !Number.isInteger(end))
    return '"start_index" and "end_index" must be integers';
  const [from, to] = [start as number, end as number];
  if (from < 0 || to <= from || to > document.length)
    return `span ${from}-${to} is outside the document (${document.length} characters)`;
  if (content !== undefined && content !== document.slice(from, to).join(''))
    return `"content" does not match the document text from ${from} to ${to}`;
  return { start: from, end: to };
}
