import type { CancellationToken } from '../core/async/cancellation-token.ts';
import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import type { FilterNode, IndexQuery } from '../index/collection-index.ts';
import type { LexicalQuery } from '../text/query.ts';
import { callIndex } from './call-index.ts';

export interface IndexSearch {
  /** Unit length, with the dimensions of the index; null for lexical search only. */
  readonly vector: Float32Array | null;
  readonly lexicalQuery: LexicalQuery;
  readonly filter: FilterNode | null;
  /** Number of rows that lexical and vector search each return. */
  readonly depth: number;
  readonly deadlineMs: number;
  readonly caller: CancellationToken;
  readonly yieldToEventLoop: YieldToEventLoop;
}

/** Runs a search of the index. Errors: those of `callIndex`; the caller's reason if it was canceled meanwhile. */
export async function searchIndex<Found>(
  { vector, lexicalQuery, filter, depth, deadlineMs, caller, yieldToEventLoop }: IndexSearch,
  run: (query: IndexQuery) => Promise<Found>,
): Promise<Found> {
  const query = {
    vector,
    terms: lexicalQuery.terms,
    filter,
    vectorCandidates: depth,
    lexicalCandidates: depth,
    deadlineMs,
    caller,
  };
  const found = await callIndex(caller, () => run(query));
  // The engine delivers the results of many searches at once.
  const pause = yieldToEventLoop();
  if (pause !== null) await pause;
  if (caller.isCanceled) throw caller.signal.reason;
  return found;
}
