/**
 * Tracks the searches of this thread that run on threads of the engine, by a number, so that they can be canceled when
 * their caller leaves or their collection closes. Not an optimization: it costs 0.7 us per search.
 */

import { assertDefined } from '../core/assert.ts';
import { addon, type SearchOutcome } from './addon.ts';
import { toIndexError } from './index-error.ts';
import { decodeReply, type IndexHits } from './search-codec.ts';
import { putBackReplyBuffer, WrittenReply } from './written-reply.ts';

/** The hits, or the reply if it was written. */
export type IndexSearchResult = IndexHits | WrittenReply;

class RunningSearch {
  readonly owner: object;
  readonly ticket: number;
  /** Receives the reply; null if the search returns hits. */
  readonly replyBuffer: ArrayBuffer | null;
  readonly result: Promise<IndexSearchResult>;
  resolve!: (result: IndexSearchResult) => void;
  reject!: (error: unknown) => void;

  constructor(owner: object, ticket: number, replyBuffer: ArrayBuffer | null) {
    this.owner = owner;
    this.ticket = ticket;
    this.replyBuffer = replyBuffer;
    this.result = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }
}

/** By ticket. */
const running = new Map<number, RunningSearch>();
let lastTicket = 0;

addon.onSearchEnd((ticket, outcome) => {
  const search = assertDefined(running.get(ticket), 'a search ends once');
  running.delete(ticket);
  if (outcome instanceof Error) search.reject(toIndexError(outcome));
  else search.resolve(decodeOutcome(outcome, search.replyBuffer));
});

/** Returns the result of a search. Must be called before the next search. */
export function decodeOutcome(outcome: SearchOutcome, replyBuffer: ArrayBuffer | null): IndexSearchResult {
  if (outcome === true) return new WrittenReply(assertDefined(replyBuffer, 'a reply has a buffer'));
  if (replyBuffer !== null) putBackReplyBuffer(replyBuffer);
  return decodeReply(outcome);
}

/**
 * Returns the ticket of the next search of this thread. Tickets wrap around after 2^32, long after the first
 * searches ended.
 */
export function nextTicket(): number {
  lastTicket = (lastTicket + 1) % 2 ** 32;
  return lastTicket;
}

/**
 * Resolves with the result of a search that the engine has just taken over. `ticket` must be the last value of
 * `nextTicket`.
 */
export function trackSearch(
  ticket: number,
  owner: object,
  replyBuffer: ArrayBuffer | null,
): Promise<IndexSearchResult> {
  const search = new RunningSearch(owner, ticket, replyBuffer);
  running.set(ticket, search);
  return search.result;
}

/** Cancels all searches of an owner and waits until they have ended. */
export async function cancelSearches(owner: object): Promise<void> {
  const ownSearches = [...running.values()].filter((search) => search.owner === owner);
  for (const { ticket } of ownSearches) addon.searchCancel(ticket);
  await Promise.allSettled(ownSearches.map(({ result }) => result));
}
