import type { YieldToEventLoop } from '../base/event-loop-scheduler.ts';
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

/** Where passages are read, and what is asked between the units of reading. */
interface PassageSource {
  readonly reader: Pick<VersionReader, 'rows'>;
  readonly yieldToEventLoop: YieldToEventLoop;
}

interface RecordSource {
  readonly reader: Pick<VersionReader, 'records'>;
  readonly yieldToEventLoop: YieldToEventLoop;
}

/** Records that are read at one time; each may have 128 kB of metadata. */
const recordsLength = 32;
/** Passages that are read at one time: from the disk they take some milliseconds. */
const unitLength = 32;

/**
 * What the candidates stand for, in their order. One whose document was deleted while the query ran is left out; the
 * content of replaced versions outlives every query by far (`garbageDelayMs`), so the others are whole.
 */
export async function readPassages(
  { reader, yieldToEventLoop }: PassageSource,
  collectionId: string,
  candidates: readonly Candidate[],
): Promise<Passage[]> {
  const passages: Passage[] = [];
  for (let start = 0; start < candidates.length; start += unitLength) {
    const turn = start === 0 ? null : yieldToEventLoop();
    if (turn !== null) await turn;
    const unit = candidates.length <= unitLength ? candidates : candidates.slice(start, start + unitLength);
    addPassages(passages, unit, reader.rows(collectionId, unit));
  }
  return passages;
}

/** Records of versions in their order; undefined for one that is gone. */
export async function readRecords(
  { reader, yieldToEventLoop }: RecordSource,
  collectionId: string,
  versions: readonly number[],
): Promise<(KeptVersion | undefined)[]> {
  if (versions.length <= recordsLength) return reader.records(collectionId, versions);
  const records: (KeptVersion | undefined)[] = [];
  for (let start = 0; start < versions.length; start += recordsLength) {
    const turn = start === 0 ? null : yieldToEventLoop();
    if (turn !== null) await turn;
    records.push(...reader.records(collectionId, versions.slice(start, start + recordsLength)));
  }
  return records;
}

function addPassages(
  passages: Passage[],
  candidates: readonly Candidate[],
  rows: readonly (RowContent | undefined)[],
): void {
  for (let i = 0; i < rows.length; i += 1) {
    const row = rows[i];
    if (row === undefined) continue;
    const { version, number, chunk } = row;
    passages.push({ candidate: candidates[i]!, version, number, chunk, row });
  }
}

/** A passage as a model reads it: where it stands, then what it says. */
export function passageText({ chunk }: Passage): string {
  return chunk.prefix === '' ? chunk.text : `${chunk.prefix}\n\n${chunk.text}`;
}
