import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { CsvError, parse } from 'csv-parse';
import { AppError } from '../../core/app-error.ts';
import { isObject } from '../../core/is-object.ts';
import type { DocumentMetadataJson } from '../../schemas/wire.ts';
import { readFileSize, readJsonLines } from '../import-lines.ts';
import { type FieldMapping, type ImportRow, readText, toMetadata } from './row-fields.ts';

export interface TableRow {
  /** Line of the table, for messages: "line 4". */
  readonly origin: string;
  /** Path of the file in its folder, with slashes; null if the row has none. */
  readonly path: string | null;
  readonly metadata: DocumentMetadataJson;
}

/** Separates the values of a column whose name starts with `list:`, in CSV. */
const listSeparator = ';';
const delimiters = [',', ';', '\t'];

/**
 * Reads a table with one row per file: JSON lines, or CSV whose first line has the names of the columns. All fields
 * except the path are metadata. Errors: 400 if it cannot be read.
 */
export async function readMetadataTable(file: string, mapping: FieldMapping): Promise<TableRow[]> {
  await readFileSize(file);
  const table: TableRow[] = [];
  const pathField = mapping.path ?? 'path';
  const rows = (await isJsonLines(file)) ? readJsonRows(file) : readCsvRows(file, pathField);
  for await (const { origin, row } of rows) {
    const path = readText(row, 'path', mapping)
      ?.replaceAll('\\', '/')
      .replace(/^(?:\.?\/)+/, '');
    table.push({ origin, path: path ?? null, metadata: metadataOf(row, pathField) });
  }
  return table;
}

/** An object `metadata` has the metadata itself; its fields win over others of the same name. */
function metadataOf(row: ImportRow, pathField: string): DocumentMetadataJson {
  const { [pathField]: _, ...fields } = row;
  const { metadata, ...others } = fields;
  return toMetadata(isObject(metadata) ? { ...others, ...metadata } : fields);
}

async function isJsonLines(file: string): Promise<boolean> {
  const handle = await open(file, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(64), 0, 64, 0);
    return /^\ufeff?\s*\{/u.test(buffer.toString('utf8', 0, bytesRead));
  } finally {
    await handle.close();
  }
}

async function* readJsonRows(file: string) {
  for await (const { number, value } of readJsonLines(file)) yield { origin: `line ${number}`, row: value };
}

async function* readCsvRows(file: string, pathField: string) {
  const parser = createReadStream(file).pipe(
    parse({
      bom: true,
      columns: (names: string[]) => checkColumns(names, file, pathField),
      delimiter: delimiters,
      info: true,
      skip_empty_lines: true,
    }),
  );
  try {
    for await (const { record, info } of parser as AsyncIterable<CsvRow>)
      yield { origin: `line ${info.lines}`, row: splitLists(record) };
  } catch (cause) {
    if (!(cause instanceof CsvError)) throw cause;
    throw new AppError('bad_request', `${file} is not a valid CSV file: ${cause.message}.`, { cause });
  }
}

interface CsvRow {
  readonly record: Readonly<Record<string, string>>;
  readonly info: { readonly lines: number };
}

function checkColumns(names: readonly string[], file: string, pathField: string): string[] {
  const trimmed = names.map((name) => name.trim());
  if (trimmed.includes(pathField)) return trimmed;
  throw new AppError(
    'bad_request',
    `${file} has no column "${pathField}" in its first line. Name the column of the paths in --mapping, such as {"path": "file"}.`,
  );
}

function splitLists(record: Readonly<Record<string, string>>): ImportRow {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [
      name,
      name.startsWith('list:')
        ? value
            .split(listSeparator)
            .map((item) => item.trim())
            .filter(Boolean)
        : value,
    ]),
  );
}
