import type { CancellationToken } from '../core/async/cancellation-token.ts';
import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import type { Candidate, CandidateList } from './candidates.ts';
import type { ChunkHit } from './chunk-hits.ts';

/** Counts results up to a maximum per document. */
export class Quota {
  readonly #perDocument: number;
  readonly #added = new Map<number, Set<string>>();
  #count = 0;

  constructor(perDocument: number) {
    this.#perDocument = perDocument;
  }

  get count(): number {
    return this.#count;
  }

  /** Counts a result of a version; false if it is already counted or the document has reached its maximum. */
  tryAdd(version: number, result: string): boolean {
    const added = this.#added.get(version) ?? new Set<string>();
    if (added.has(result) || added.size >= this.#perDocument) return false;
    this.#added.set(version, added.add(result));
    this.#count += 1;
    return true;
  }

  hasCapacity(version: number): boolean {
    return (this.#added.get(version)?.size ?? 0) < this.#perDocument;
  }
}

/** Limits of the results of a query. */
export interface ResultLimits {
  readonly k: number;
  readonly maxPerDocument: number;
  /** 0 for no minimum. */
  readonly minScore: number;
}

/** Returns the first `k` ordered items, up to a maximum per document, without those below the minimum score. */
export function limitResults<T extends { readonly score: number }>(
  ordered: readonly T[],
  { k, maxPerDocument, minScore }: ResultLimits,
  versionOf: (item: T) => number,
): T[] {
  const limited = Number.isFinite(maxPerDocument)
    ? limitPerDocument(ordered, { k, maxPerDocument }, versionOf)
    : ordered.slice(0, k);
  return minScore > 0 ? limited.filter(({ score }) => score >= minScore) : limited;
}

function limitPerDocument<T>(
  ordered: readonly T[],
  { k, maxPerDocument }: { k: number; maxPerDocument: number },
  versionOf: (item: T) => number,
): T[] {
  const counts = new Map<number, number>();
  const limited: T[] = [];
  for (const item of ordered) {
    if (limited.length >= k) break;
    const version = versionOf(item);
    const count = counts.get(version) ?? 0;
    if (count >= maxPerDocument) continue;
    counts.set(version, count + 1);
    limited.push(item);
  }
  return limited;
}

export interface SelectionOptions {
  /** Number of results wanted. */
  readonly k: number;
  /** Number of chunks wanted, if that many exist: the input of a reranker. */
  readonly poolSize: number;
  /** Initial number of rows that lexical and vector search each return. */
  readonly depth: number;
  /** Maximum number of results per document. */
  readonly perDocument: number;
  /** Maximum number of additional chunks per document beyond those needed for its results. */
  readonly extraPerDocument: number;
  readonly find: (depth: number) => Promise<CandidateList>;
  readonly read: (candidates: readonly Candidate[]) => Promise<ChunkHit[]>;
  /**
   * Returns the results of a chunk, with names unique in the document; empty when the query rejects its text.
   */
  readonly resultsOf: (chunkHit: ChunkHit) => readonly string[];
  readonly caller: CancellationToken;
  readonly yieldToEventLoop: YieldToEventLoop;
}

interface SelectionResult {
  /** In first-stage order. */
  readonly chunkHits: ChunkHit[];
  readonly candidates: CandidateList;
  /** Number of chunks read. */
  readonly checked: number;
  /** False when the search ended at its limits before finding `k` results. */
  readonly complete: boolean;
}

/** Maximum search depth and maximum number of chunks read: the cost bound of such a query. */
const depthMax = 16_384;
const checkedMax = 4_096;
/** Number of candidates per read. */
const batchSize = 32;

/**
 * Returns chunks that yield `k` results under the constraints of the query, if that many exist; increases the
 * depth until found.
 */
export async function selectChunks(options: SelectionOptions): Promise<SelectionResult> {
  const resultsByCandidate = new Map<string, readonly string[]>();
  for (let depth = options.depth; ; depth = Math.min(depthMax, depth * 4)) {
    const candidates = await options.find(depth);
    const { chunkHits, hasEnough } = await selectFrom(candidates.best(), options, resultsByCandidate);
    const checked = resultsByCandidate.size;
    const complete = hasEnough || (candidates.length < depth && checked < checkedMax);
    if (complete || depth >= depthMax || checked >= checkedMax)
      return { chunkHits, candidates, checked, complete };
  }
}

async function selectFrom(
  ordered: readonly Candidate[],
  { k, poolSize, perDocument, extraPerDocument, read, resultsOf, caller, yieldToEventLoop }: SelectionOptions,
  resultsByCandidate: Map<string, readonly string[]>,
): Promise<{ chunkHits: ChunkHit[]; hasEnough: boolean }> {
  const chunkHits: ChunkHit[] = [];
  const quota = new Quota(perDocument);
  const counts = new Map<number, number>();
  const mayContribute = ({ version }: Candidate) =>
    quota.hasCapacity(version) || (counts.get(version) ?? 0) < extraPerDocument;
  for (let at = 0; at < ordered.length && resultsByCandidate.size < checkedMax; at += batchSize) {
    if (caller.isCanceled) throw caller.signal.reason;
    const batch = ordered.slice(at, at + batchSize).filter(mayContribute);
    if (batch.length === 0) continue;
    for (const chunkHit of await read(batch)) {
      const pause = yieldToEventLoop();
      if (pause !== null) await pause;
      const { version, row } = chunkHit.candidate;
      const key = `${version} ${row}`;
      const results = resultsByCandidate.get(key) ?? resultsOf(chunkHit);
      resultsByCandidate.set(key, results);
      const isNew = results.filter((result) => quota.tryAdd(version, result)).length > 0;
      const count = counts.get(version) ?? 0;
      if (results.length === 0 || !(isNew || count < extraPerDocument)) continue;
      counts.set(version, count + 1);
      chunkHits.push(chunkHit);
    }
    if (quota.count >= k && chunkHits.length >= poolSize) return { chunkHits, hasEnough: true };
  }
  return { chunkHits, hasEnough: quota.count >= k };
}
