import type { ChunkPlace, Contents, StoredChunk } from '../store/content.ts';
import type { VersionRecord, Versions } from '../store/versions.ts';
import type { Candidate } from './candidates.ts';

/** A candidate together with what the store holds of it. */
export interface Passage {
  readonly candidate: Candidate;
  readonly version: VersionRecord;
  readonly place: ChunkPlace;
  readonly chunk: StoredChunk;
}

export interface PassageStore {
  readonly versions: Versions;
  readonly contents: Contents;
}

/**
 * What the candidates stand for, in their order. One whose document was deleted while the query ran is left out; the
 * content of replaced versions outlives every query by far (`garbageDelayMs`), so the others are whole.
 */
export function readPassages(
  { versions, contents }: PassageStore,
  collectionId: string,
  candidates: readonly Candidate[],
): Passage[] {
  const numbers = [...new Set(candidates.map((candidate) => candidate.version))];
  const records = new Map(versions.getMany(collectionId, numbers).map((record, i) => [numbers[i]!, record]));
  const documentIds = [...new Set([...records.values()].flatMap((record) => record?.documentId ?? []))];
  const rows = new Map(contents.chunksOfRows(documentIds).map((chunks, i) => [documentIds[i]!, chunks]));
  const found = candidates.flatMap((candidate) => {
    const version = records.get(candidate.version);
    if (version === undefined) return [];
    const { documentId } = version;
    const chunk = rows.get(documentId)?.[candidate.row];
    return chunk === undefined ? [] : [{ candidate, version, place: { documentId, chunk } }];
  });
  const chunks = contents.chunks(found.map(({ place }) => place));
  return found.flatMap((passage, i) => {
    const chunk = chunks[i];
    return chunk === undefined ? [] : [{ ...passage, chunk }];
  });
}

/** A passage as a model reads it: where it stands, then what it says. */
export function passageText({ chunk }: Passage): string {
  return chunk.prefix === '' ? chunk.text : `${chunk.prefix}\n\n${chunk.text}`;
}
