import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { AppError } from '../base/app-error.ts';
import type { AddDocumentsResponse } from '../schemas/documents.ts';
import type { CommandContext, CommandOptions } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { counted, printable } from './layout.ts';
import { Progress } from './progress.ts';

/** Of one request. */
const batchLinesMax = 64;
const batchUnitsMax = 4_000_000;
const refusalsShownMax = 20;
const standardInput = '-';

interface Line {
  readonly number: number;
  readonly document: Record<string, unknown>;
}

interface Batch {
  readonly lines: readonly Line[];
  /** Characters of the file up to its end, about its bytes. */
  readonly unitsRead: number;
}

interface Tally {
  taken: number;
  refused: number;
  readonly reasons: string[];
}

/** `quarry documents add`: each line is a document as `add-documents` takes them; `text` and `pages` are short forms. */
export async function addLines(
  context: CommandContext,
  words: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const { terminal, clock } = context;
  const tally: Tally = { taken: 0, refused: 0, reasons: [] };
  const progress = new Progress('Adding documents', terminal, clock);
  const file = words[0]!;
  const total = file === standardInput ? null : await sizeOf(file);
  for await (const { lines, unitsRead } of batchesOf(file, options.overwrite === true)) {
    await send(context, options, lines, tally);
    if (total !== null)
      progress.update({ done: Math.min(unitsRead, total), total, words: counted(tally.taken, 'document') });
  }
  const refused = tally.refused === 0 ? '' : `, ${tally.refused} refused`;
  progress.end(`${counted(tally.taken, 'document')} added${refused}.`);
  if (options.json === true) terminal.out(JSON.stringify({ added: tally.taken, refused: tally.reasons }));
  else for (const reason of tally.reasons.slice(0, refusalsShownMax)) terminal.note(`${printable(reason)}\n`);
  return tally.refused === 0 ? exitCodes.done : exitCodes.failed;
}

async function send(
  { api }: CommandContext,
  options: CommandOptions,
  lines: readonly Line[],
  tally: Tally,
): Promise<void> {
  const { results } = await api.call<AddDocumentsResponse>('documents/add-documents', {
    collection_name: String(options.collection),
    documents: lines.map(({ document }) => document),
    wait: options.wait !== false,
  });
  results.forEach(({ path, status, detail, index_status: reached }, i) => {
    const failed = reached === 'indexing_failed' || reached === 'parsing_failed';
    if (status < 300 && !failed) {
      tally.taken += 1;
      return;
    }
    tally.refused += 1;
    const reason = detail ?? `it is ${reached}; \`quarry documents get\` says why`;
    tally.reasons.push(`line ${lines[i]!.number}, ${path ?? 'without a path'}: ${reason}`);
  });
}

/** Documents that fit into one request together. */
async function* batchesOf(file: string, overwrite: boolean): AsyncGenerator<Batch, void, void> {
  let batch: Line[] = [];
  let units = 0;
  let unitsRead = 0;
  let number = 0;
  for await (const text of linesOf(file)) {
    number += 1;
    if (text.trim() === '') continue;
    if (batch.length > 0 && (batch.length >= batchLinesMax || units + text.length > batchUnitsMax)) {
      yield { lines: batch, unitsRead };
      batch = [];
      units = 0;
    }
    batch.push({ number, document: { ...documentOf(text, number), ...(overwrite ? { overwrite } : {}) } });
    units += text.length;
    unitsRead += text.length + 1;
  }
  if (batch.length > 0) yield { lines: batch, unitsRead };
}

async function* linesOf(file: string): AsyncGenerator<string, void, void> {
  const input = file === standardInput ? process.stdin : createReadStream(file);
  yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
}

async function sizeOf(file: string): Promise<number> {
  try {
    const found = await stat(file);
    if (found.isFile()) return found.size;
  } catch (cause) {
    throw new AppError('bad_request', `${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
  throw new AppError('bad_request', `${file} is no file.`);
}

function documentOf(text: string, number: number): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (cause) {
    throw new AppError('bad_request', `Line ${number} is not JSON: ${(cause as Error).message}`, { cause });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new AppError('bad_request', `Line ${number} is no JSON object.`);
  const { text: plain, pages, ...document } = value as Record<string, unknown>;
  if ('content' in document) return document;
  if (plain !== undefined) return { ...document, content: { type: 'text', text: plain } };
  return pages === undefined ? document : { ...document, content: { type: 'text-pages', pages } };
}
