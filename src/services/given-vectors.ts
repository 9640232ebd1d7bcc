import { AppError } from '../base/app-error.ts';
import { counted } from '../base/counted.ts';
import type { YieldToEventLoop } from '../base/event-loop-scheduler.ts';
import { limits } from '../base/limits.ts';
import { unitPrefix } from '../models/dimensions.ts';
import { vectorFloats } from '../requests/base64.ts';
import { type GivenContent, type GivenVector, PreparedText } from '../requests/prepared-document.ts';
import { type Collection, hasOwnVectors } from '../store/collections.ts';

/** What a caller says of a document that matters to its vectors. */
interface VectorFields {
  readonly content: GivenContent;
  readonly vector?: GivenVector | undefined;
  readonly vectors?: readonly GivenVector[] | undefined;
}

/** Vectors of the pages of a document, of unit length; nothing where a model makes them. A 4xx says what is wrong. */
export async function vectorsOfDocument(
  collection: Collection,
  { content, vector, vectors }: VectorFields,
  yieldToEventLoop: YieldToEventLoop,
): Promise<{ readonly vectors?: Float32Array[]; readonly vectorBytes?: number }> {
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
  const units = pageUnitsOf(content);
  const pages = units.length;
  if (given.length !== pages)
    throw refused(
      `The document has ${counted(pages, 'page')} and ${counted(given.length, 'vector')}; it needs one for each page.`,
    );
  const vectorBytes = bytesOf(units, collection);
  if (vectorBytes > limits.ownVectorBytesMax)
    throw new AppError(
      'too_large',
      `The vectors of the passages of this document would take ${vectorBytes} bytes; at most ${limits.ownVectorBytesMax} are allowed. Send it in parts.`,
    );
  const made: Float32Array[] = [];
  for (const [i, each] of given.entries()) {
    const turn = yieldToEventLoop();
    if (turn !== null) await turn;
    made.push(unitVector(wanted === 'vector' ? 'vector' : `vectors[${i}]`, each, collection));
  }
  return { vectors: made, vectorBytes };
}

/** The vector of a query, of unit length; null where a model makes it or words alone are asked. A 400 otherwise. */
export function vectorOfQuery(
  collection: Collection,
  given: GivenVector | null,
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

/** Length of each page of a text. */
function pageUnitsOf(content: Exclude<GivenContent, { type: 'auto' }>): readonly number[] {
  if (content instanceof PreparedText) return content.facts.pageUnits;
  return content.type === 'text' ? [content.text.length] : content.pages.map(({ length }) => length);
}

/** What the vectors of all passages of a text and the codes of their parts take, about. */
function bytesOf(pageUnits: readonly number[], { dimensions }: Collection): number {
  let bytes = 0;
  for (const length of pageUnits) {
    const passages = 1 + Math.floor(length / limits.coarseChunkUnitsTarget);
    const parts = 1 + Math.floor(length / limits.preciseChunkUnitsTarget);
    bytes += dimensions * (Float32Array.BYTES_PER_ELEMENT * passages + parts);
  }
  return bytes;
}

function unitVector(field: string, given: GivenVector, { name, dimensions }: Collection): Float32Array {
  const numbers = numbersOf(field, given);
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

function numbersOf(field: string, given: GivenVector): Float32Array | Float64Array {
  if (typeof given === 'string') return vectorFloats(field, given);
  return given instanceof Float64Array ? given : Float64Array.from(given);
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
