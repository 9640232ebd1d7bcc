/** The searches of this thread that threads of the engine run. */

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
 * At the lowest bits of their tickets; at most half of the places are taken, and a ticket whose place is taken is passed
 * over. `core/indexed-set` says why this is no Map.
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

/** Numbers of the searches of this thread; after four billion they begin again, when the first are long over. */
export function nextTicket(): number {
  do lastTicket = (lastTicket + 1) % 2 ** 32;
  while (running[lastTicket % running.length] !== null);
  return lastTicket;
}

/** What becomes of a search that the engine has taken over just now. `ticket` was the last of `nextTicket`. */
export function trackSearch(ticket: number, owner: object): Promise<IndexHits> {
  const search = new RunningSearch(owner, ticket);
  running[ticket % running.length] = search;
  count += 1;
  if (2 * count > running.length) doubleCapacity();
  return search.hits;
}

/** What had different places before has different ones in twice as many. */
function doubleCapacity(): void {
  const before = running;
  running = Array.from({ length: 2 * before.length }, () => null);
  for (const search of before) if (search !== null) running[search.ticket % running.length] = search;
}

/** Has all searches of an owner end soon, and waits for it. */
export async function cancelSearches(owner: object): Promise<void> {
  const ownSearches = running.filter((search) => search !== null).filter((search) => search.owner === owner);
  for (const { ticket } of ownSearches) addon.searchCancel(ticket);
  await Promise.allSettled(ownSearches.map(({ hits }) => hits));
}
