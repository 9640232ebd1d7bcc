import { AppError } from '../base/app-error.ts';
import { limits } from '../base/limits.ts';
import { unitPrefix } from '../models/dimensions.ts';
import { decodeBase64 } from '../schemas/checks.ts';
import type { AddDocumentRequest, DocumentContent } from '../schemas/documents.ts';
import { type Collection, hasOwnVectors } from '../store/collections.ts';

/** A vector as it came: numbers, or base64 of little-endian 32-bit floats. */
type Given = NonNullable<AddDocumentRequest['vector']>;

/** What a caller says of a vector that is needed. */
type VectorFields = Pick<AddDocumentRequest, 'vector' | 'vectors'>;

/** Vectors of the pages of a document, of unit length; nothing where a model makes them. A 4xx says what is wrong. */
export function vectorsOfDocument(
  collection: Collection,
  content: DocumentContent,
  { vector, vectors }: VectorFields,
): { readonly vectors?: Float32Array[]; readonly vectorBytes?: number } {
  if (!hasOwnVectors(collection)) {
    if (vector === undefined && vectors === undefined) return {};
    throw notOwn(collection, vector === undefined ? 'vectors' : 'vector');
  }
  if (content.type === 'auto') throw needsText(collection);
  const [wanted, other] =
    content.type === 'text' ? (['vector', vectors] as const) : (['vectors', vector] as const);
  if (other !== undefined)
    throw refused(
      `A document of the type ${JSON.stringify(content.type)} takes ${wanted === 'vector' ? 'one vector, in `vector`' : 'a vector for each page, in `vectors`'}.`,
    );
  const given = content.type === 'text' ? (vector === undefined ? null : [vector]) : (vectors ?? null);
  if (given === null)
    throw refused(
      `The vectors of ${JSON.stringify(collection.name)} come from its callers: \`${wanted}\` is missing.`,
    );
  const pages = content.type === 'text' ? 1 : content.pages.length;
  if (given.length !== pages)
    throw refused(`The document has ${pages} pages and ${given.length} vectors; it needs one for each page.`);
  const vectorBytes = bytesOf(content, collection);
  if (vectorBytes > limits.ownVectorBytesMax)
    throw new AppError(
      'too_large',
      `The vectors of the passages of this document would take ${vectorBytes} bytes; at most ${limits.ownVectorBytesMax} are allowed. Send it in parts.`,
    );
  const made = given.map((each, i) =>
    unitVector(wanted === 'vector' ? 'vector' : `vectors[${i}]`, each, collection),
  );
  return { vectors: made, vectorBytes };
}

/** The vector of a query, of unit length; null where a model makes it or words alone are asked. A 400 otherwise. */
export function vectorOfQuery(
  collection: Collection,
  given: Given | null,
  { needed }: { readonly needed: boolean },
): Float32Array | null {
  if (!hasOwnVectors(collection)) {
    if (given === null) return null;
    throw notOwn(collection, 'query_vector');
  }
  if (given !== null) return unitVector('query_vector', given, collection);
  if (!needed) return null;
  throw refused(
    `The vectors of ${JSON.stringify(collection.name)} come from its callers: \`query_vector\` is missing. The weights {"lexical": 1, "vector": 0} ask by words alone.`,
  );
}

/** A file holds no vector. */
export function needsText({ name }: Collection): AppError {
  return refused(
    `The vectors of ${JSON.stringify(name)} come from its callers: send the text of the file and its vectors with add-document.`,
  );
}

/** What the vectors of all passages of a text and the codes of their parts take, about. */
function bytesOf(content: Exclude<DocumentContent, { type: 'auto' }>, { dimensions }: Collection): number {
  const pages = content.type === 'text' ? [content.text] : content.pages;
  let bytes = 0;
  for (const { length } of pages) {
    const passages = 1 + Math.floor(length / limits.coarseChunkUnitsTarget);
    const parts = 1 + Math.floor(length / limits.preciseChunkUnitsTarget);
    bytes += dimensions * (Float32Array.BYTES_PER_ELEMENT * passages + parts);
  }
  return bytes;
}

function unitVector(field: string, given: Given, { name, dimensions }: Collection): Float32Array {
  const numbers = typeof given === 'string' ? floats(field, given) : Float64Array.from(given);
  if (numbers.length !== dimensions)
    throw refused(
      `${field} has ${numbers.length} dimensions; the vectors of ${JSON.stringify(name)} have ${dimensions}.`,
    );
  const wrong = numbers.findIndex((number) => !Number.isFinite(number));
  if (wrong >= 0)
    throw refused(`${field} holds ${numbers[wrong]} at position ${wrong}, which is no finite number.`);
  // The largest component becomes 1 first: its square is then neither too large nor too small for any number.
  let peak = 0;
  for (const number of numbers) peak = Math.max(peak, Math.abs(number));
  const unit = unitPrefix(
    Float32Array.from(numbers, (number) => number / peak),
    dimensions,
  );
  if (unit === undefined) throw refused(`${field} has the length 0, so that it points nowhere.`);
  return unit;
}

function floats(field: string, base64: string): Float32Array {
  let bytes: Buffer;
  try {
    bytes = decodeBase64(base64);
  } catch (cause) {
    throw new AppError('bad_request', `${field} is no valid base64.`, { cause });
  }
  const size = Float32Array.BYTES_PER_ELEMENT;
  if (bytes.length % size !== 0)
    throw refused(`${field} is ${bytes.length} bytes of base64, which are no whole 32-bit floats.`);
  return Float32Array.from({ length: bytes.length / size }, (_, i) => bytes.readFloatLE(i * size));
}

function notOwn({ name, model }: Collection, field: string): AppError {
  const maker = model === undefined ? 'a model' : JSON.stringify(model.id);
  return refused(
    `The vectors of ${JSON.stringify(name)} are made by ${maker}: it takes no \`${field}\`. A collection with embedding_model "own" does.`,
  );
}

function refused(detail: string): AppError {
  return new AppError('bad_request', detail);
}
