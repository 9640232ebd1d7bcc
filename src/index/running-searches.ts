/** Tracks the searches of this thread that run on threads of the engine. */

import { assertDefined } from '../core/assert.ts';
import { addon } from './addon.ts';
import { toIndexError } from './index-error.ts';
import { decodeReply, type IndexHits } from './search-codec.ts';

class RunningSearch {
  readonly owner: object;
  readonly ticket: number;
  readonly hits: Promise<IndexHits>;
  resolve!: (hits: IndexHits) => void;
  reject!: (error: unknown) => void;

  constructor(owner: object, ticket: number) {
    this.owner = owner;
    this.ticket = ticket;
    this.hits = new Promise((resolve, reject) => {
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
  else search.resolve(decodeReply(outcome));
});

/**
 * Returns the ticket of the next search of this thread. Tickets wrap around after 2^32, long after the first
 * searches ended.
 */
export function nextTicket(): number {
  lastTicket = (lastTicket + 1) % 2 ** 32;
  return lastTicket;
}

/**
 * Resolves with the hits of a search that the engine has just taken over. `ticket` must be the last value of
 * `nextTicket`.
 */
export function trackSearch(ticket: number, owner: object): Promise<IndexHits> {
  const search = new RunningSearch(owner, ticket);
  running.set(ticket, search);
  return search.hits;
}

/** Cancels all searches of an owner and waits until they have ended. */
export async function cancelSearches(owner: object): Promise<void> {
  const ownSearches = [...running.values()].filter((search) => search.owner === owner);
  for (const { ticket } of ownSearches) addon.searchCancel(ticket);
  await Promise.allSettled(ownSearches.map(({ hits }) => hits));
}
