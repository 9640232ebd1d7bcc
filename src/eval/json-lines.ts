import { readFile } from 'node:fs/promises';
import { AppError } from '../core/app-error.ts';

/** A line of corpus.jsonl or queries.jsonl. */
export interface JsonRecord {
  readonly _id: string;
  readonly text: string;
  readonly [field: string]: unknown;
}

/** JSON objects, one a line, each with an `_id` of its own and a `text`. AppError `bad_request` names file and line. */
export async function readJsonRecords(file: string): Promise<JsonRecord[]> {
  const lines = await readLines(file);
  const ids = new Set<string>();
  return lines.map((line, i) => {
    const record = parseRecord(line);
    if (typeof record === 'string') throw invalidLineError(file, i, record);
    if (ids.has(record._id)) throw invalidLineError(file, i, `the _id "${record._id}" is there twice`);
    ids.add(record._id);
    return record;
  });
}

/** The record of a line, or what is wrong with it. */
function parseRecord(line: string): JsonRecord | string {
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
export async function readLines(file: string): Promise<string[]> {
  const text = await readText(file);
  return text.split(/\r?\n/u).filter((line, i, all) => line !== '' || i < all.length - 1);
}

/** AppError `bad_request` when it cannot be read. */
export async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new AppError('bad_request', `${file} cannot be read: ${(cause as Error).message}.`, { cause });
  }
}

/** `line` counts from 0. */
export function invalidLineError(file: string, line: number, reason: string): AppError {
  return new AppError('bad_request', `${file}, line ${line + 1}: ${reason}.`);
}
