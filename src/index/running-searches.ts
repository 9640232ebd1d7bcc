/** Tracks the searches of this thread that run on threads of the engine. */

import { assert } from '../core/assert.ts';
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

/**
 * Hash table indexed by the lowest bits of the tickets. At most half of the slots are used, and a ticket
 * whose slot is taken is skipped. `core/indexed-set` explains why this is not a Map.
 */
let running: (RunningSearch | null)[] = Array.from({ length: 64 }, () => null);
let count = 0;
let lastTicket = 0;

addon.onSearchEnd((ticket, outcome) => {
  const slot = ticket % running.length;
  const search = running[slot] ?? null;
  assert(search?.ticket === ticket, 'a search ends once');
  running[slot] = null;
  count -= 1;
  if (outcome instanceof Error) search.reject(toIndexError(outcome));
  else search.resolve(decodeReply(outcome));
});

/**
 * Returns the ticket of the next search of this thread. Tickets wrap around after 2^32, long after the first
 * searches ended.
 */
export function nextTicket(): number {
  do lastTicket = (lastTicket + 1) % 2 ** 32;
  while (running[lastTicket % running.length] !== null);
  return lastTicket;
}

/**
 * Resolves with the hits of a search that the engine has just taken over. `ticket` must be the last value of
 * `nextTicket`.
 */
export function trackSearch(ticket: number, owner: object): Promise<IndexHits> {
  const search = new RunningSearch(owner, ticket);
  running[ticket % running.length] = search;
  count += 1;
  if (2 * count > running.length) doubleCapacity();
  return search.hits;
}

/** Doubles the table; tickets in different slots stay in different slots. */
function doubleCapacity(): void {
  const before = running;
  running = Array.from({ length: 2 * before.length }, () => null);
  for (const search of before) if (search !== null) running[search.ticket % running.length] = search;
}

/** Cancels all searches of an owner and waits until they have ended. */
export async function cancelSearches(owner: object): Promise<void> {
  const ownSearches = running.filter((search) => search !== null).filter((search) => search.owner === owner);
  for (const { ticket } of ownSearches) addon.searchCancel(ticket);
  await Promise.allSettled(ownSearches.map(({ hits }) => hits));
}
