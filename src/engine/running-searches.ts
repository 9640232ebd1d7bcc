/** The searches of this thread that threads of the engine run. */
import { addon } from '../addon/addon.ts';
import { assert } from '../base/assert.ts';
import { translated } from './index-error.ts';
import { type IndexHits, readReply } from './search-bytes.ts';

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
 * over. `base/roster` says why this is no Map.
 */
let running: (RunningSearch | null)[] = Array.from({ length: 64 }, () => null);
let count = 0;
let lastTicket = 0;

addon.onSearchEnd((ticket, outcome) => {
  const place = ticket % running.length;
  const search = running[place] ?? null;
  assert(search?.ticket === ticket, 'a search ends once');
  running[place] = null;
  count -= 1;
  if (outcome instanceof Error) search.reject(translated(outcome));
  else search.resolve(readReply(outcome));
});

/** Numbers of the searches of this thread; after four billion they begin again, when the first are long over. */
export function nextTicket(): number {
  do lastTicket = (lastTicket + 1) % 2 ** 32;
  while (running[lastTicket % running.length] !== null);
  return lastTicket;
}

/** What becomes of a search that the engine has taken over just now. `ticket` was the last of `nextTicket`. */
export function searchEnd(ticket: number, owner: object): Promise<IndexHits> {
  const search = new RunningSearch(owner, ticket);
  running[ticket % running.length] = search;
  count += 1;
  if (2 * count > running.length) growTwice();
  return search.hits;
}

/** What had different places before has different ones in twice as many. */
function growTwice(): void {
  const before = running;
  running = Array.from({ length: 2 * before.length }, () => null);
  for (const search of before) if (search !== null) running[search.ticket % running.length] = search;
}

/** Has all searches of an owner end soon, and waits for it. */
export async function cancelSearches(owner: object): Promise<void> {
  const own = running.filter((search) => search !== null).filter((search) => search.owner === owner);
  for (const { ticket } of own) addon.searchCancel(ticket);
  await Promise.allSettled(own.map(({ hits }) => hits));
}
