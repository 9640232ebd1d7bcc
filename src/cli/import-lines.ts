import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { AppError } from '../core/app-error.ts';
import { isObject } from '../core/is-object.ts';
import type { CommandContext, CommandOptions } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { ProgressBar } from './progress.ts';
import { pluralize, toPrintable } from './text-layout.ts';
import { type DocumentRejection, DocumentSender } from './transfer/document-sender.ts';

const rejectionsShownMax = 20;
const standardInput = '-';

/** A line of a file of JSON lines. */
interface InputLine {
  readonly number: number;
  readonly value: Record<string, unknown>;
  /** Characters read up to the end of the line; approximates the bytes of the file. */
  readonly unitsRead: number;
  readonly units: number;
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
  const { terminal, clock, api } = context;
  const file = args[0]!;
  const sender = new DocumentSender({
    api,
    collection: String(options.collection),
    wait: options.wait !== false,
  });
  const progress = new ProgressBar('Adding documents', terminal, clock);
  const total = file === standardInput ? null : await readFileSize(file);
  for await (const { number, value, units, unitsRead } of readJsonLines(file)) {
    const document = { ...toDocument(value), ...(options.overwrite === true ? { overwrite: true } : {}) };
    await sender.add({ origin: `line ${number}`, document, units });
    if (total !== null)
      progress.update({
        done: Math.min(unitsRead, total),
        total,
        label: pluralize(sender.added, 'document'),
      });
  }
  await sender.flush();
  const { added, rejected } = sender;
  const rejectedNote = rejected.length === 0 ? '' : `, ${rejected.length} rejected`;
  progress.finish(`${pluralize(added, 'document')} added${rejectedNote}.`);
  const reasons = rejected.map(describeRejection);
  if (options.json === true) terminal.out(JSON.stringify({ added, refused: reasons }));
  else for (const reason of reasons.slice(0, rejectionsShownMax)) terminal.note(`${toPrintable(reason)}\n`);
  return rejected.length === 0 ? exitCodes.done : exitCodes.failed;
}

export function describeRejection({ origin, path, reason }: DocumentRejection): string {
  return `${origin}, ${path ?? 'without a path'}: ${reason}`;
}

/** Yields the JSON objects of a file, one per line; skips blank lines. Errors: 400 for any other line. */
export async function* readJsonLines(file: string): AsyncGenerator<InputLine, void, void> {
  let unitsRead = 0;
  let number = 0;
  const input = file === standardInput ? process.stdin : createReadStream(file);
  for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    number += 1;
    unitsRead += text.length + 1;
    if (text.trim() === '') continue;
    yield { number, value: parseObject(text, number), units: text.length, unitsRead };
  }
}

/** Resolves to the size of a file in bytes. Errors: 400 if it cannot be read or is not a file. */
export async function readFileSize(file: string): Promise<number> {
  try {
    const found = await stat(file);
    if (found.isFile()) return found.size;
  } catch (cause) {
    throw new AppError('bad_request', `${file} cannot be read: ${(cause as Error).message}.`, { cause });
  }
  throw new AppError('bad_request', `${file} is not a file.`);
}

function parseObject(line: string, number: number): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(line.replace(/^\uFEFF/, ''));
  } catch (cause) {
    throw new AppError('bad_request', `Line ${number} is not JSON: ${(cause as Error).message}.`, { cause });
  }
  if (!isObject(value)) throw new AppError('bad_request', `Line ${number} is not a JSON object.`);
  return value as Record<string, unknown>;
}

function toDocument({ text, pages, ...document }: Record<string, unknown>): Record<string, unknown> {
  if ('content' in document) return document;
  if (text !== undefined) return { ...document, content: { type: 'text', text } };
  return pages === undefined ? document : { ...document, content: { type: 'text-pages', pages } };
}
