import { deserialize, serialize } from 'node:v8';
import type { AnalyzedChunk } from './chunk-task.ts';

/** Chunks deserialized at one time: about 0.1 ms. */
const partChunksMax = 32;

/**
 * Serializes the chunks of a long document into byte parts that move to another thread, which reads them part
 * by part.
 */
export function packChunks(chunks: readonly AnalyzedChunk[]): Uint8Array<ArrayBuffer>[] {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (let i = 0; i < chunks.length; i += partChunksMax)
    parts.push(new Uint8Array(serialize(chunks.slice(i, i + partChunksMax))));
  return parts;
}

export function unpackChunks(part: Uint8Array): AnalyzedChunk[] {
  return deserialize(part) as AnalyzedChunk[];
}
