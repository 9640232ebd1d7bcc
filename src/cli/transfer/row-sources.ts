import { readFileSize, readJsonLines } from '../import-lines.ts';
import type { ImportItem, ImportSource, SkippedItem } from './import-source.ts';
import {
  type FieldMapping,
  hashPages,
  type ImportRow,
  readField,
  readText,
  toMetadata,
} from './row-fields.ts';

export interface RowSourceOptions {
  readonly file: string;
  readonly mapping: FieldMapping;
  /** Only rows of this collection; null for all rows. */
  readonly sourceCollection: string | null;
}

export interface NumberedRow {
  readonly origin: string;
  readonly row: ImportRow;
}

/** Rows of Elasticsearch or OpenSearch, one JSON object per line: the documents themselves, or hits with `_source`. */
export async function openElasticsearchRows(options: RowSourceOptions): Promise<ImportSource> {
  await readFileSize(options.file);
  const { mapping } = options;
  return {
    total: null,
    isSorted: false,
    settings: null,
    async *items(skip) {
      for await (const { origin, row } of readRows(options)) {
        const path = readText(row, 'path', mapping) ?? readText(row, 'source_url', mapping);
        const text = readText(row, 'content', mapping);
        const item = toTextItem({ origin, row, mapping, path, text }, skip);
        if (item !== null) yield item;
      }
    },
  };
}

/**
 * Rows of a vector store, one JSON object per line. Consecutive rows with the same path become the pages of one document,
 * in a collection with the model `own`.
 */
export async function openVectorRows(options: RowSourceOptions): Promise<ImportSource> {
  await readFileSize(options.file);
  const dimensions = await findDimensions(options);
  return {
    total: null,
    isSorted: false,
    settings: dimensions === null ? null : { num_shards: 1, embedding_model: 'own', dimensions },
    async *items(skip) {
      const pathOf = ({ row }: NumberedRow) =>
        readText(row, 'path', options.mapping) ??
        readText(row, 'source_url', options.mapping) ??
        readText(row, 'id', options.mapping);
      for await (const { path, rows } of groupRows(readRows(options), pathOf))
        yield* toVectorItem(rows, path, { mapping: options.mapping, withVectors: true }, skip);
    },
  };
}

/** Groups consecutive rows with the same path. */
export async function* groupRows(
  rows: AsyncIterable<NumberedRow>,
  pathOf: (row: NumberedRow) => string | undefined,
): AsyncGenerator<{ readonly path: string | undefined; readonly rows: readonly NumberedRow[] }, void, void> {
  let group: NumberedRow[] = [];
  for await (const next of rows) {
    if (group.length > 0 && pathOf(group[0]!) !== pathOf(next)) {
      yield { path: pathOf(group[0]!), rows: group };
      group = [];
    }
    group.push(next);
  }
  if (group.length > 0) yield { path: pathOf(group[0]!), rows: group };
}

async function* readRows({ file, mapping, sourceCollection }: RowSourceOptions): AsyncGenerator<NumberedRow> {
  for await (const { number, value } of readJsonLines(file)) {
    const { _source: source, _id: id } = value;
    const row = typeof source === 'object' && source !== null ? { path: id, ...source } : value;
    if (sourceCollection !== null && readText(row, 'collection', mapping) !== sourceCollection) continue;
    yield { origin: `line ${number}`, row };
  }
}

/** Returns the dimensions of the first vector; null if there is none. */
async function findDimensions(options: RowSourceOptions): Promise<number | null> {
  for await (const { row } of readRows(options)) {
    const vector = readField(row, 'vector', options.mapping);
    if (Array.isArray(vector)) return vector.length;
  }
  return null;
}

function metadataOf(row: ImportRow, mapping: FieldMapping) {
  const metadata = readField(row, 'metadata', mapping);
  const url = readText(row, 'source_url', mapping);
  const fields = typeof metadata === 'object' && metadata !== null ? (metadata as ImportRow) : {};
  return toMetadata({ ...fields, ...(url === undefined ? {} : { source_url: url }) });
}

function toTextItem(
  {
    origin,
    row,
    mapping,
    path,
    text,
  }: NumberedRow & {
    readonly mapping: FieldMapping;
    readonly path: string | undefined;
    readonly text: string | undefined;
  },
  skip: (item: SkippedItem) => void,
): ImportItem | null {
  if (path === undefined || text === undefined) {
    const reason = path === undefined ? 'it has neither path nor source_url' : 'it has no content';
    skip({ origin, path: path ?? null, reason });
    return null;
  }
  const document = { path, metadata: metadataOf(row, mapping), content: { type: 'text', text } };
  return {
    origin,
    path,
    document,
    sha256: hashPages([text]),
    file: null,
    units: JSON.stringify(document).length,
  };
}

/** Converts the rows of one document. Without vectors, the server computes them from the texts. */
export function* toVectorItem(
  group: readonly NumberedRow[],
  path: string | undefined,
  { mapping, withVectors }: { readonly mapping: FieldMapping; readonly withVectors: boolean },
  skip: (item: SkippedItem) => void,
): Generator<ImportItem, void, void> {
  const { origin, row } = group[0]!;
  const pages: string[] = [];
  const vectors: unknown[] = [];
  for (const each of group) {
    const vector = readField(each.row, 'vector', mapping);
    const text = readText(each.row, 'text', mapping);
    if (path === undefined || (withVectors && !Array.isArray(vector)) || text === undefined) {
      const missing =
        path === undefined ? 'neither path nor id' : text === undefined ? 'no text' : 'no vector';
      skip({ origin: each.origin, path: path ?? null, reason: `it has ${missing}` });
      continue;
    }
    pages.push(text);
    vectors.push(vector);
  }
  if (path === undefined || pages.length === 0) return;
  const content = { type: 'text-pages', pages };
  const document = {
    path,
    metadata: metadataOf(row, mapping),
    content,
    ...(withVectors ? { vectors } : {}),
  };
  yield {
    origin,
    path,
    document,
    sha256: hashPages(pages),
    file: null,
    units: JSON.stringify(document).length,
  };
}
