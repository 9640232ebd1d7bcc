import { AppError } from '../core/app-error.ts';
import { queryLimits } from '../core/query-limits.ts';
import { dequantize, getCodeBytes } from '../models/quantization.ts';
import type { QueryEnum } from '../schemas/usage.ts';
import type { ExcludedRows } from '../search/query-request.ts';
import { findChunkAt } from '../storage/chunks.ts';
import { getGeneration } from '../storage/collections.ts';
import type { DocumentRecord, Documents } from '../storage/documents.ts';
import type { VersionReader } from '../storage/version-reader.ts';
import type { VersionRecord } from '../storage/versions.ts';
import { canAccessDocument } from './access-filter.ts';
import { type CollectionAccess, findDocument } from './document-access.ts';

/** Document, or the snippet of it at an offset, whose similar content is searched. */
interface SimilarTo {
  readonly path: string;
  /** In code points. */
  readonly start_index?: number | undefined;
}

/** Vector of the content to which a search finds similar content, and the rows of that content. */
export interface SimilarSource {
  /** Of unit length. */
  readonly vector: Float32Array;
  readonly excluded: ExcludedRows;
}

export interface SimilarComponents {
  readonly documents: Documents;
  readonly reader: VersionReader;
}

/**
 * Returns the vector of a document, the mean of the vectors of its chunks, or that of its snippet at an offset, and the
 * rows that are not results: the document, or the snippet if the results are snippets or pages. Errors: 404 for a
 * document that does not exist or that the caller may not read, 400 if it is not indexed or has no text at the offset.
 */
export function readSimilarSource(
  { documents, reader }: SimilarComponents,
  access: CollectionAccess,
  { path, start_index: offset }: SimilarTo,
  kind: QueryEnum,
): SimilarSource {
  const record = findDocument(documents, access, path);
  const version = readLiveVersion(reader, access, record);
  const chunkOfRow = reader.readChunksOfRows(version);
  if (chunkOfRow === undefined || chunkOfRow.length === 0)
    throw noText(`the document ${JSON.stringify(path)}`);
  const generation = getGeneration(access.collection);
  const count = Math.min(chunkOfRow.length, queryLimits.similarRowsMax);
  if (offset === undefined) {
    const found = reader.readRowVectors(version, { first: 0, end: count, generation });
    if (found === undefined) throw notIndexed(record);
    return { vector: toMean(found), excluded: { version: version.version, rows: null, count } };
  }
  const row = findRow(reader, version, { chunkOfRow, offset });
  const source = { version, row, offset, generation };
  const vector = (kind === 'fine' ? readFineVector(reader, source) : null) ?? readRowVector(reader, source);
  if (vector === null) throw notIndexed(record);
  const excluded = kind === 'documents' ? { rows: null, count } : { rows: new Set([row]), count: 1 };
  return { vector, excluded: { version: version.version, ...excluded } };
}

/** Returns the version that search returns; during an overwrite, that of the old content. */
function readLiveVersion(
  reader: VersionReader,
  { collection, principal }: CollectionAccess,
  record: DocumentRecord,
): VersionRecord {
  const { live } = record;
  const [version] = live === null ? [] : reader.readRecords(collection.collectionId, [live]);
  if (version === undefined || !canAccessDocument(principal, version)) throw notIndexed(record);
  return version;
}

/** Returns the indexed row with the chunk at an offset. */
function findRow(
  reader: VersionReader,
  version: VersionRecord,
  { chunkOfRow, offset }: { readonly chunkOfRow: Uint32Array; readonly offset: number },
): number {
  const layout = reader.readLayout(version);
  if (layout === undefined || offset >= layout.length)
    throw new AppError(
      'bad_request',
      `similar_to.start_index is ${offset}; the text of the document has ${layout?.length ?? 0} characters.`,
    );
  const row = chunkOfRow.indexOf(findChunkAt(layout.chunkStarts, offset));
  if (row === -1) throw noText(`the part of the document at ${offset}`);
  return row;
}

interface RowSource {
  readonly version: VersionRecord;
  readonly row: number;
  readonly offset: number;
  readonly generation: number;
}

function readRowVector(reader: VersionReader, { version, row, generation }: RowSource): Float32Array | null {
  const found = reader.readRowVectors(version, { first: row, end: row + 1, generation });
  return found === undefined ? null : toMean(found);
}

/** Returns the vector of the fine chunk at the offset; null if it has none. */
function readFineVector(
  reader: VersionReader,
  { version: { collectionId, version }, row, offset, generation }: RowSource,
): Float32Array | null {
  const location = { version, row };
  const [content] = reader.readRows(collectionId, [location]);
  const [data] = reader.readFineChunks(collectionId, [location], generation);
  const index = content?.chunk.children.findLastIndex(({ startCodePoint }) => startCodePoint <= offset) ?? -1;
  if (content === undefined || data === undefined || index === -1) return null;
  const bytes = data.codes.byteLength / content.chunk.children.length;
  const dimensions = bytes - getCodeBytes(0);
  const vectors = dequantize(data.codes.subarray(index * bytes, (index + 1) * bytes), dimensions);
  return toMean({ dimensions, vectors });
}

/** Returns the mean of vectors, scaled to unit length. */
function toMean({
  dimensions,
  vectors,
}: {
  readonly dimensions: number;
  readonly vectors: Float32Array;
}): Float32Array {
  const sum = new Float64Array(dimensions);
  for (let row = 0; row < vectors.length; row += dimensions)
    for (let i = 0; i < dimensions; i += 1) sum[i] = sum[i]! + vectors[row + i]!;
  const length = Math.sqrt(sum.reduce((squares, component) => squares + component * component, 0));
  return Float32Array.from(sum, (component) => (length === 0 ? 0 : component / length));
}

function notIndexed({ path, status }: DocumentRecord): AppError {
  return new AppError(
    'bad_request',
    `similar_to: the document ${JSON.stringify(path)} is not indexed yet; its index_status is ${JSON.stringify(status)}.`,
  );
}

function noText(noun: string): AppError {
  return new AppError('bad_request', `similar_to: ${noun} has no text that could be compared.`);
}
