import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { AppError } from '../core/app-error.ts';
import type { AddDocumentsResponse } from '../schemas/documents.ts';
import type { CommandContext, CommandOptions } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { ProgressBar } from './progress.ts';
import { pluralize, toPrintable } from './text-layout.ts';

/** Limits of one request. */
const batchLinesMax = 64;
const batchUnitsMax = 4_000_000;
const rejectionsShownMax = 20;
const standardInput = '-';

interface InputLine {
  readonly number: number;
  readonly document: Record<string, unknown>;
}

interface InputBatch {
  readonly lines: readonly InputLine[];
  /** Characters read up to the end of the batch; approximates the bytes of the file. */
  readonly unitsRead: number;
}

interface ImportCounts {
  added: number;
  rejected: number;
  readonly reasons: string[];
}

/**
 * Implements `quarry documents add`: each line is a document in the format of `add-documents`; `text` and
 * `pages` are shorthands.
 */
export async function importLines(
  context: CommandContext,
  args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const { terminal, clock } = context;
  const counts: ImportCounts = { added: 0, rejected: 0, reasons: [] };
  const progress = new ProgressBar('Adding documents', terminal, clock);
  const file = args[0]!;
  const total = file === standardInput ? null : await readFileSize(file);
  for await (const { lines, unitsRead } of readBatches(file, options.overwrite === true)) {
    await sendBatch(context, options, lines, counts);
    if (total !== null)
      progress.update({
        done: Math.min(unitsRead, total),
        total,
        label: pluralize(counts.added, 'document'),
      });
  }
  const rejectedNote = counts.rejected === 0 ? '' : `, ${counts.rejected} rejected`;
  progress.finish(`${pluralize(counts.added, 'document')} added${rejectedNote}.`);
  if (options.json === true) terminal.out(JSON.stringify({ added: counts.added, refused: counts.reasons }));
  else
    for (const reason of counts.reasons.slice(0, rejectionsShownMax))
      terminal.note(`${toPrintable(reason)}\n`);
  return counts.rejected === 0 ? exitCodes.done : exitCodes.failed;
}

async function sendBatch(
  { api }: CommandContext,
  options: CommandOptions,
  lines: readonly InputLine[],
  counts: ImportCounts,
): Promise<void> {
  const { results } = await api.call<AddDocumentsResponse>('documents/add-documents', {
    collection_name: String(options.collection),
    documents: lines.map(({ document }) => document),
    wait: options.wait !== false,
  });
  results.forEach(({ path, status, detail, index_status: indexStatus }, i) => {
    const failed = indexStatus === 'indexing_failed' || indexStatus === 'parsing_failed';
    if (status < 300 && !failed) {
      counts.added += 1;
      return;
    }
    counts.rejected += 1;
    const reason = detail ?? `it is ${indexStatus}; run \`quarry documents get\` for the reason`;
    counts.reasons.push(`line ${lines[i]!.number}, ${path ?? 'without a path'}: ${reason}`);
  });
}

/** Yields batches of documents that fit into one request. */
async function* readBatches(file: string, overwrite: boolean): AsyncGenerator<InputBatch, void, void> {
  let batch: InputLine[] = [];
  let units = 0;
  let unitsRead = 0;
  let number = 0;
  for await (const text of readLines(file)) {
    number += 1;
    if (text.trim() === '') continue;
    if (batch.length > 0 && (batch.length >= batchLinesMax || units + text.length > batchUnitsMax)) {
      yield { lines: batch, unitsRead };
      batch = [];
      units = 0;
    }
    batch.push({ number, document: { ...parseDocument(text, number), ...(overwrite ? { overwrite } : {}) } });
    units += text.length;
    unitsRead += text.length + 1;
  }
  if (batch.length > 0) yield { lines: batch, unitsRead };
}

async function* readLines(file: string): AsyncGenerator<string, void, void> {
  const input = file === standardInput ? process.stdin : createReadStream(file);
  yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
}

async function readFileSize(file: string): Promise<number> {
  try {
    const found = await stat(file);
    if (found.isFile()) return found.size;
  } catch (cause) {
    throw new AppError('bad_request', `${file} cannot be read: ${(cause as Error).message}.`, { cause });
  }
  throw new AppError('bad_request', `${file} is not a file.`);
}

function parseDocument(line: string, number: number): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(line.replace(/^\uFEFF/, ''));
  } catch (cause) {
    throw new AppError('bad_request', `Line ${number} is not JSON: ${(cause as Error).message}.`, { cause });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new AppError('bad_request', `Line ${number} is not a JSON object.`);
  const { text, pages, ...document } = value as Record<string, unknown>;
  if ('content' in document) return document;
  if (text !== undefined) return { ...document, content: { type: 'text', text } };
  return pages === undefined ? document : { ...document, content: { type: 'text-pages', pages } };
}
