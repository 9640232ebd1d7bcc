import { readFile } from 'node:fs/promises';
import { AppError } from '../base/app-error.ts';

/** A line of corpus.jsonl or queries.jsonl. */
export interface JsonRecord {
  readonly _id: string;
  readonly text: string;
  readonly [field: string]: unknown;
}

/** JSON objects, one a line, each with an `_id` of its own and a `text`. AppError `bad_request` names file and line. */
export async function readRecords(file: string): Promise<JsonRecord[]> {
  const lines = await linesOf(file);
  const seen = new Set<string>();
  return lines.map((line, i) => {
    const record = recordOf(line);
    if (typeof record === 'string') throw wrongLine(file, i, record);
    if (seen.has(record._id)) throw wrongLine(file, i, `the _id "${record._id}" is there twice`);
    seen.add(record._id);
    return record;
  });
}

/** The record of a line, or what is wrong with it. */
function recordOf(line: string): JsonRecord | string {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    return `not JSON (${(error as Error).message})`;
  }
  const record = (value ?? {}) as Record<string, unknown>;
  const { _id, text } = record;
  if (typeof _id !== 'string' || _id === '') return '"_id" must be a string';
  if (typeof text !== 'string') return '"text" must be a string';
  return { ...record, _id, text };
}

/** The lines of a text, without the empty one behind the last. AppError `bad_request` when it cannot be read. */
export async function linesOf(file: string): Promise<string[]> {
  const text = await textOf(file);
  return text.split(/\r?\n/u).filter((line, i, all) => line !== '' || i < all.length - 1);
}

/** AppError `bad_request` when it cannot be read. */
export async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new AppError('bad_request', `${file} cannot be read: ${(cause as Error).message}.`, { cause });
  }
}

/** `line` counts from 0. */
export function wrongLine(file: string, line: number, what: string): AppError {
  return new AppError('bad_request', `${file}, line ${line + 1}: ${what}.`);
}
