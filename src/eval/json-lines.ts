import { readFile } from 'node:fs/promises';
import { AppError } from '../core/app-error.ts';

/** A line of corpus.jsonl or queries.jsonl. */
export interface JsonRecord {
  readonly _id: string;
  readonly text: string;
  readonly [field: string]: unknown;
}

/**
 * Reads JSON objects, one per line, each with a unique `_id` and a `text`. Errors: AppError `bad_request`
 * with file and line.
 */
export async function readJsonRecords(file: string): Promise<JsonRecord[]> {
  const lines = await readLines(file);
  const ids = new Set<string>();
  return lines.map((line, i) => {
    const record = parseRecord(line);
    if (typeof record === 'string') throw invalidLineError(file, i, record);
    if (ids.has(record._id)) throw invalidLineError(file, i, `duplicate _id "${record._id}"`);
    ids.add(record._id);
    return record;
  });
}

/** Returns the record of a line, or a description of the problem. */
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

/** Returns the lines of a file, without the empty one after the last newline. Errors: as `readText`. */
export async function readLines(file: string): Promise<string[]> {
  const text = await readText(file);
  return text.split(/\r?\n/u).filter((line, i, all) => line !== '' || i < all.length - 1);
}

/** Reads a text file. Errors: AppError `bad_request` if it cannot be read. */
export async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new AppError('bad_request', `${file} cannot be read: ${(cause as Error).message}.`, { cause });
  }
}

/** Returns an AppError `bad_request` for a line; `line` is zero-based. */
export function invalidLineError(file: string, line: number, reason: string): AppError {
  return new AppError('bad_request', `${file}, line ${line + 1}: ${reason}.`);
}
