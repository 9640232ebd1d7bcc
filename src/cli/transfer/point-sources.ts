import { AppError } from '../../core/app-error.ts';
import { isObject } from '../../core/is-object.ts';
import type { ImportSource } from './import-source.ts';
import { type FieldMapping, type ImportRow, readField, readText } from './row-fields.ts';
import { groupRows, type NumberedRow, toVectorItem } from './row-sources.ts';
import { ServiceClient } from './service-client.ts';

export interface PointSourceOptions {
  readonly url: string;
  readonly collection: string;
  readonly key: string | null;
  readonly mapping: FieldMapping;
  /** Whether the collection has vectors of the source; otherwise the server computes them from the texts. */
  readonly withVectors: boolean;
  readonly signal: AbortSignal;
}

/** An entry of a vector store. */
export interface SourcePoint {
  readonly id: string;
  readonly vector: unknown;
  /** Text that the store keeps apart from the fields; undefined if it does not. */
  readonly text: string | undefined;
  readonly fields: ImportRow;
}

/** Points per request. */
const pageSize = 256;
/** Fields that libraries use for the text. */
const textFields = ['text', 'page_content', 'content', 'document', 'chunk'];

type PointId = string | number;

interface QdrantPoint {
  readonly id: PointId;
  readonly payload: ImportRow | null;
  readonly vector: unknown;
}

interface ScrollReply {
  readonly result: { readonly points: readonly QdrantPoint[]; readonly next_page_offset: PointId | null };
}

/** The points of a collection of Qdrant, by its REST API. */
export async function openQdrantSource(options: PointSourceOptions): Promise<ImportSource> {
  const { collection, key, mapping } = options;
  const headers = key === null ? {} : { 'api-key': key };
  const client = new ServiceClient({ ...options, system: 'Qdrant', headers });
  const path = `/collections/${encodeURIComponent(collection)}/points`;
  const counted = await client.post<{ result: { count: number } }>(`${path}/count`, { exact: true });
  async function* points(): AsyncGenerator<SourcePoint, void, void> {
    let offset: PointId | null = null;
    do {
      const request: object = {
        limit: pageSize,
        offset,
        with_payload: true,
        with_vector: options.withVectors,
      };
      const reply: ScrollReply = await client.post(`${path}/scroll`, request);
      for (const { id, payload, vector } of reply.result.points)
        yield {
          id: String(id),
          vector: chooseVector(vector, mapping),
          text: undefined,
          fields: payload ?? {},
        };
      offset = reply.result.next_page_offset;
    } while (offset !== null);
  }
  return await openPoints(options, counted.result.count, points);
}

/** A collection may have several vectors per point: the mapping names one, otherwise it is the first. */
function chooseVector(vector: unknown, mapping: FieldMapping): unknown {
  if (!isObject(vector)) return vector;
  const named = vector as ImportRow;
  return mapping.vector === undefined ? Object.values(named)[0] : named[mapping.vector];
}

interface ChromaRecords {
  readonly ids: readonly string[];
  readonly documents: readonly (string | null)[] | null;
  readonly metadatas: readonly (ImportRow | null)[] | null;
  readonly embeddings: readonly (readonly number[])[] | null;
}

/** The records of a collection of Chroma, by version 2 of its API, in the default tenant and database. */
export async function openChromaSource(options: PointSourceOptions): Promise<ImportSource> {
  const { collection, key } = options;
  const headers = key === null ? {} : { 'x-chroma-token': key };
  const client = new ServiceClient({ ...options, system: 'Chroma', headers });
  const base = '/api/v2/tenants/default_tenant/databases/default_database/collections';
  const { id } = await client.get<{ id: string }>(`${base}/${encodeURIComponent(collection)}`);
  const total = await client.get<number>(`${base}/${id}/count`);
  const include = ['documents', 'metadatas', ...(options.withVectors ? ['embeddings'] : [])];
  async function* points(): AsyncGenerator<SourcePoint, void, void> {
    for (let offset = 0; ; offset += pageSize) {
      const request = { limit: pageSize, offset, include };
      const records = await client.post<ChromaRecords>(`${base}/${id}/get`, request);
      for (const [i, recordId] of records.ids.entries())
        yield {
          id: recordId,
          vector: records.embeddings?.[i],
          text: records.documents?.[i] ?? undefined,
          fields: records.metadatas?.[i] ?? {},
        };
      if (records.ids.length < pageSize) return;
    }
  }
  return await openPoints(options, total, points);
}

/** `points` is called for each pass over the points. */
export async function openPoints(
  { collection, mapping, withVectors }: PointSourceOptions,
  total: number,
  points: () => AsyncGenerator<SourcePoint, void, void>,
): Promise<ImportSource> {
  const dimensions = withVectors ? await findDimensions(points()) : null;
  if (withVectors && total > 0 && dimensions === null)
    throw new AppError(
      'bad_request',
      `The points of ${JSON.stringify(collection)} have no dense vectors. Use --model, so that the server computes vectors from the texts.`,
    );
  return {
    // Points are not documents: several of them can be the pages of one.
    total: mapping.path === undefined ? total : null,
    isSorted: false,
    settings: dimensions === null ? null : { num_shards: 1, embedding_model: 'own', dimensions },
    async *items(skip) {
      for await (const { path, rows } of groupRows(toRows(points(), mapping), ({ row }) => String(row.path)))
        yield* toVectorItem(rows, path, { mapping: {}, withVectors }, skip);
    },
  };
}

async function findDimensions(points: AsyncGenerator<SourcePoint, void, void>): Promise<number | null> {
  for await (const { vector } of points) if (Array.isArray(vector)) return vector.length;
  return null;
}

/** Converts points to rows with the usual names of fields. */
async function* toRows(
  points: AsyncGenerator<SourcePoint, void, void>,
  mapping: FieldMapping,
): AsyncGenerator<NumberedRow, void, void> {
  for await (const { id, vector, text, fields } of points) {
    const names = mapping.text === undefined ? textFields : [mapping.text];
    const textField = text === undefined ? names.find((name) => readText(fields, name, {})) : undefined;
    const path = mapping.path === undefined ? id : (readText(fields, 'path', mapping) ?? id);
    const rest = Object.entries(fields).filter(([name]) => name !== textField);
    const metadata =
      mapping.metadata === undefined ? Object.fromEntries(rest) : readField(fields, 'metadata', mapping);
    const row = { path, vector, metadata, text: text ?? readText(fields, textField ?? 'text', {}) };
    yield { origin: `point ${id}`, row };
  }
}
