import { AppError } from '../core/app-error.ts';
import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import { formatCount } from '../core/format.ts';
import { limits } from '../core/limits.ts';
import { toUnitPrefix } from '../models/dimensions.ts';
import { decodeVector } from '../requests/base64.ts';
import { type ContentInput, PreparedText, type VectorInput } from '../requests/prepared-document.ts';
import { type Collection, hasOwnVectors } from '../storage/collections.ts';

/** Fields of a document request that concern its vectors. */
export type VectorFields = {
  readonly content: ContentInput;
  readonly vector?: VectorInput | undefined;
  readonly vectors?: readonly VectorInput[] | undefined;
};

/**
 * Returns page vectors of unit length; empty when a model computes them. Errors: 4xx for missing or invalid
 * vectors.
 */
export async function parseDocumentVectors(
  collection: Collection,
  { content, vector, vectors }: VectorFields,
  yieldToEventLoop: YieldToEventLoop,
): Promise<{ readonly vectors?: Float32Array[]; readonly vectorBytes?: number }> {
  if (!hasOwnVectors(collection)) {
    if (vector === undefined && vectors === undefined) return {};
    throw modelVectorsError(collection, vector === undefined ? 'vectors' : 'vector');
  }
  if (content.type === 'auto' || content.type === 'parsed') throw textRequiredError(collection);
  const [expectedField, unexpectedVector] =
    content.type === 'text' ? (['vector', vectors] as const) : (['vectors', vector] as const);
  if (unexpectedVector !== undefined)
    throw badRequest(
      `A document of the type ${JSON.stringify(content.type)} requires ${expectedField === 'vector' ? 'one vector in the field vector' : 'one vector per page in the field vectors'}.`,
    );
  const vectorInputs = content.type === 'text' ? (vector === undefined ? null : [vector]) : (vectors ?? null);
  if (vectorInputs === null)
    throw badRequest(
      `${expectedField} is missing: the collection ${JSON.stringify(collection.name)} has vectors supplied by callers.`,
    );
  const units = pageUnitsOf(content);
  const pages = units.length;
  if (vectorInputs.length !== pages)
    throw badRequest(
      `The document has ${formatCount(pages, 'page')} but ${formatCount(vectorInputs.length, 'vector')}. Send one vector per page.`,
    );
  const vectorBytes = estimateVectorBytes(units, collection);
  if (vectorBytes > limits.ownVectorBytesMax)
    throw new AppError(
      'too_large',
      `The chunk vectors of this document would need ${vectorBytes} bytes; the limit is ${limits.ownVectorBytesMax}. Split the document.`,
    );
  const unitVectors: Float32Array[] = [];
  for (const [i, each] of vectorInputs.entries()) {
    const pause = yieldToEventLoop();
    if (pause !== null) await pause;
    unitVectors.push(toUnitVector(expectedField === 'vector' ? 'vector' : `vectors[${i}]`, each, collection));
  }
  return { vectors: unitVectors, vectorBytes };
}

/**
 * Returns the query vector, of unit length; null when a model computes it or the search is lexical only.
 * Errors: 400.
 */
export function parseQueryVector(
  collection: Collection,
  input: VectorInput | null,
  { isRequired }: { readonly isRequired: boolean },
): Float32Array | null {
  if (!hasOwnVectors(collection)) {
    if (input === null) return null;
    throw modelVectorsError(collection, 'query_vector');
  }
  if (input !== null) return toUnitVector('query_vector', input, collection);
  if (!isRequired) return null;
  throw badRequest(
    `query_vector is missing: the collection ${JSON.stringify(collection.name)} has vectors supplied by callers. For lexical search only, set the weights {"lexical": 1, "vector": 0}.`,
  );
}

/** Returns the error for a file in a collection with caller-supplied vectors. */
export function textRequiredError({ name }: Collection): AppError {
  return badRequest(
    `The collection ${JSON.stringify(name)} has vectors supplied by callers and does not accept files. Send the text of the file and its vectors with add-document.`,
  );
}

/** Length of each page in UTF-16 code units. */
function pageUnitsOf(content: Exclude<ContentInput, { type: 'auto' | 'parsed' }>): readonly number[] {
  if (content instanceof PreparedText) return content.content.pageUnits;
  return content.type === 'text' ? [content.text.length] : content.pages.map(({ length }) => length);
}

/** Estimates the bytes of all coarse chunk vectors of a text and the codes of its fine chunks. */
function estimateVectorBytes(pageUnits: readonly number[], { dimensions }: Collection): number {
  let bytes = 0;
  for (const length of pageUnits) {
    const coarseChunks = 1 + Math.floor(length / limits.coarseChunkUnitsTarget);
    const fineChunks = 1 + Math.floor(length / limits.fineChunkUnitsTarget);
    bytes += dimensions * (Float32Array.BYTES_PER_ELEMENT * coarseChunks + fineChunks);
  }
  return bytes;
}

function toUnitVector(field: string, input: VectorInput, { name, dimensions }: Collection): Float32Array {
  const numbers = toNumbers(field, input);
  if (numbers.length !== dimensions)
    throw badRequest(
      `${field} has ${numbers.length} dimensions; the vectors of ${JSON.stringify(name)} have ${dimensions}.`,
    );
  const invalidIndex = numbers.findIndex((number) => !Number.isFinite(number));
  if (invalidIndex >= 0)
    throw badRequest(
      `${field} contains ${numbers[invalidIndex]} at position ${invalidIndex}, which is not a finite number.`,
    );
  if (numbers instanceof Float32Array && isUnitVector(numbers)) return numbers;
  // Scale the largest component to 1 first, so that its square neither overflows nor underflows.
  let largest = 0;
  for (const number of numbers) largest = Math.max(largest, Math.abs(number));
  const unit = toUnitPrefix(
    Float32Array.from(numbers, (number) => number / largest),
    dimensions,
  );
  if (unit === undefined) throw badRequest(`${field} must not be the zero vector.`);
  return unit;
}

/** Difference of a squared length from 1 that is rounding of 32-bit floats. */
const unitTolerance = 2 ** -22;

/** Normalizing an exported vector again would change its last bits. */
function isUnitVector(numbers: Float32Array): boolean {
  let squares = 0;
  for (const number of numbers) squares += number * number;
  return Math.abs(squares - 1) < unitTolerance;
}

function toNumbers(field: string, input: VectorInput): Float32Array | Float64Array {
  if (typeof input === 'string') return decodeVector(field, input);
  return input instanceof Float64Array ? input : Float64Array.from(input);
}

function modelVectorsError({ name, model }: Collection, field: string): AppError {
  const modelName = model === undefined ? 'a model' : JSON.stringify(model.id);
  return badRequest(
    `${field} is not accepted: the vectors of ${JSON.stringify(name)} come from ${modelName}. To supply your own vectors, create a collection with embedding_model "own".`,
  );
}

function badRequest(detail: string): AppError {
  return new AppError('bad_request', detail);
}
