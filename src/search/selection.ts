import type { Caller } from '../base/caller.ts';
import type { YieldToEventLoop } from '../base/event-loop-scheduler.ts';
import type { Candidate, CandidateList } from './candidates.ts';
import type { Passage } from './passages.ts';

/** Counts results, of one document no more than it may have. */
export class Quota {
  readonly #perDocument: number;
  readonly #taken = new Map<number, Set<string>>();
  #count = 0;

  constructor(perDocument: number) {
    this.#perDocument = perDocument;
  }

  get count(): number {
    return this.#count;
  }

  /** Whether a result of a version counts: it is new, and there is room for it. */
  take(version: number, result: string): boolean {
    const taken = this.#taken.get(version) ?? new Set<string>();
    if (taken.has(result) || taken.size >= this.#perDocument) return false;
    this.#taken.set(version, taken.add(result));
    this.#count += 1;
    return true;
  }

  hasRoom(version: number): boolean {
    return (this.#taken.get(version)?.size ?? 0) < this.#perDocument;
  }
}

/** The first `k` of what is in order, of one document no more than it may have, without what scores too little. */
export function cut<T extends { readonly score: number }>(
  ordered: readonly T[],
  { k, maxPerDocument, minScore }: { k: number; maxPerDocument: number; minScore: number },
  versionOf: (each: T) => number,
): T[] {
  const kept = Number.isFinite(maxPerDocument)
    ? ofEach(ordered, { k, maxPerDocument }, versionOf)
    : ordered.slice(0, k);
  return minScore > 0 ? kept.filter(({ score }) => score >= minScore) : kept;
}

function ofEach<T>(
  ordered: readonly T[],
  { k, maxPerDocument }: { k: number; maxPerDocument: number },
  versionOf: (each: T) => number,
): T[] {
  const counts = new Map<number, number>();
  const kept: T[] = [];
  for (const each of ordered) {
    if (kept.length >= k) break;
    const version = versionOf(each);
    const count = counts.get(version) ?? 0;
    if (count >= maxPerDocument) continue;
    counts.set(version, count + 1);
    kept.push(each);
  }
  return kept;
}

export interface Choice {
  /** Results wanted. */
  readonly k: number;
  /** Passages wanted, where there are so many: what a reranker reads. */
  readonly pool: number;
  /** Rows that each side hands in at first. */
  readonly depth: number;
  /** Results of one document at most. */
  readonly perDocument: number;
  /** Passages of one document that may be there beside those its results need. */
  readonly spares: number;
  readonly find: (depth: number) => Promise<CandidateList>;
  readonly read: (candidates: readonly Candidate[]) => Promise<Passage[]>;
  /** What a passage gives, each with a name of its own in its document; nothing when the query refuses its text. */
  readonly resultsOf: (passage: Passage) => readonly string[];
  readonly caller: Caller;
  readonly yieldToEventLoop: YieldToEventLoop;
}

interface Chosen {
  /** In the order of the first stage. */
  readonly passages: Passage[];
  readonly candidates: CandidateList;
  /** Passages that were read for it. */
  readonly checked: number;
  /** False when the search ended at its limits before there were `k` results. */
  readonly complete: boolean;
}

/** Rows that each side hands in at most, and passages that are read at most: what such a query may cost. */
const depthMax = 16_384;
const checkedMax = 4_096;
/** Candidates that are read at one time. */
const sliceLength = 32;

/** Passages that give `k` results by the rules of the query, where there are so many; looks deeper until it has them. */
export async function choosePassages(choice: Choice): Promise<Chosen> {
  const known = new Map<string, readonly string[]>();
  for (let depth = choice.depth; ; depth = Math.min(depthMax, depth * 4)) {
    const candidates = await choice.find(depth);
    const { passages, enough } = await chooseFrom(candidates.best(), choice, known);
    const checked = known.size;
    const complete = enough || (candidates.length < depth && checked < checkedMax);
    if (complete || depth >= depthMax || checked >= checkedMax)
      return { passages, candidates, checked, complete };
  }
}

async function chooseFrom(
  ordered: readonly Candidate[],
  { k, pool, perDocument, spares, read, resultsOf, caller, yieldToEventLoop }: Choice,
  known: Map<string, readonly string[]>,
): Promise<{ passages: Passage[]; enough: boolean }> {
  const passages: Passage[] = [];
  const quota = new Quota(perDocument);
  const counts = new Map<number, number>();
  const mayGive = ({ version }: Candidate) => quota.hasRoom(version) || (counts.get(version) ?? 0) < spares;
  for (let at = 0; at < ordered.length && known.size < checkedMax; at += sliceLength) {
    if (caller.gone) throw caller.signal.reason;
    const slice = ordered.slice(at, at + sliceLength).filter(mayGive);
    if (slice.length === 0) continue;
    for (const passage of await read(slice)) {
      const turn = yieldToEventLoop();
      if (turn !== null) await turn;
      const { version, row } = passage.candidate;
      const place = `${version} ${row}`;
      const results = known.get(place) ?? resultsOf(passage);
      known.set(place, results);
      const isNew = results.filter((result) => quota.take(version, result)).length > 0;
      const count = counts.get(version) ?? 0;
      if (results.length === 0 || !(isNew || count < spares)) continue;
      counts.set(version, count + 1);
      passages.push(passage);
    }
    if (quota.count >= k && passages.length >= pool) return { passages, enough: true };
  }
  return { passages, enough: quota.count >= k };
}
