import type { StoredChunk } from '../store/content.ts';
import type { KeptVersion, RowContent, VersionReader } from '../store/version-reader.ts';
import type { Candidate } from './candidates.ts';

/** A candidate together with what the store holds of it. */
export interface Passage {
  readonly candidate: Candidate;
  readonly version: KeptVersion;
  /** Number of the chunk in its document. */
  readonly number: number;
  readonly chunk: StoredChunk;
  /** All that the store holds of it. */
  readonly row: RowContent;
}

/**
 * What the candidates stand for, in their order. One whose document was deleted while the query ran is left out; the
 * content of replaced versions outlives every query by far (`garbageDelayMs`), so the others are whole.
 */
export function readPassages(
  reader: VersionReader,
  collectionId: string,
  candidates: readonly Candidate[],
): Passage[] {
  const rows = reader.rows(collectionId, candidates);
  const passages: Passage[] = [];
  for (let i = 0; i < rows.length; i += 1) {
    const row = rows[i];
    if (row === undefined) continue;
    const { version, number, chunk } = row;
    passages.push({ candidate: candidates[i]!, version, number, chunk, row });
  }
  return passages;
}

/** A passage as a model reads it: where it stands, then what it says. */
export function passageText({ chunk }: Passage): string {
  return chunk.prefix === '' ? chunk.text : `${chunk.prefix}\n\n${chunk.text}`;
}
