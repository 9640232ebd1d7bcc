import { ProviderError } from './post-json.ts';

/** Parts of replies of the OpenAI embeddings API. */

export function getField(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

export function invalidReplyError(reason: string): ProviderError {
  return new ProviderError('failed', reason);
}

/**
 * Sorts entries by their `index` field; without indices, keeps the given order. Errors: `ProviderError` for
 * duplicate or out-of-range indices.
 */
export function sortByIndex(data: readonly unknown[]): unknown[] {
  const indices = data.map((entry) => getField(entry, 'index'));
  if (indices.every((index) => index === undefined)) return [...data];
  const ordered: unknown[] = data.map(() => undefined);
  data.forEach((entry, i) => {
    const index = indices[i];
    const isUnused = typeof index === 'number' && index in ordered && ordered[index] === undefined;
    if (!isUnused) throw invalidReplyError(`reply has a duplicate or invalid index ${String(index)}`);
    ordered[index] = entry;
  });
  return ordered;
}

/** Parses the vector of one entry: an array of numbers, or little-endian floats in base64. */
export function parseVector(entry: unknown): Float32Array {
  const embedding = getField(entry, 'embedding');
  if (typeof embedding === 'string') {
    const bytes = Buffer.from(embedding, 'base64');
    if (bytes.length === 0 || bytes.length % 4 !== 0)
      throw invalidReplyError('reply has a vector that is not base64-encoded floats');
    return Float32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
  }
  if (!Array.isArray(embedding) || embedding.length === 0)
    throw invalidReplyError('reply has an entry without a vector');
  if (!embedding.every((number) => typeof number === 'number'))
    throw invalidReplyError('reply has a vector with non-numeric components');
  return Float32Array.from(embedding as number[]);
}
