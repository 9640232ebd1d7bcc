import type { NewChunk, StoredChunk } from '../../src/storage/chunks.ts';

/** Chunk in the format in which it is passed to the store. */
export function toNewChunk({ children, ...chunk }: StoredChunk): NewChunk {
  const spans = children.flatMap((child) => [
    child.start,
    child.end,
    child.startCodePoint,
    child.endCodePoint,
  ]);
  return { ...chunk, spans: Uint32Array.from(spans) };
}
