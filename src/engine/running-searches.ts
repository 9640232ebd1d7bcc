/** The searches of this thread that threads of the engine run. */
import { addon } from '../addon/addon.ts';
import { assert } from '../base/assert.ts';
import { translated } from './index-error.ts';
import { type IndexHits, readReply } from './search-bytes.ts';

class RunningSearch {
  readonly owner: object;
  readonly hits: Promise<IndexHits>;
  resolve!: (hits: IndexHits) => void;
  reject!: (error: unknown) => void;

  constructor(owner: object) {
    this.owner = owner;
    this.hits = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }
}

const running = new Map<number, RunningSearch>();
let lastTicket = 0;

addon.onSearchEnd((ticket, outcome) => {
  const search = running.get(ticket);
  assert(search !== undefined, 'a search ends once');
  running.delete(ticket);
  if (outcome instanceof Error) search.reject(translated(outcome));
  else search.resolve(readReply(outcome));
});

/** Numbers of the searches of this thread; after four billion they begin again, when the first are long over. */
export function nextTicket(): number {
  lastTicket = (lastTicket + 1) % 2 ** 32;
  return lastTicket;
}

/** What becomes of a search that the engine has taken over just now. */
export function searchEnd(ticket: number, owner: object): Promise<IndexHits> {
  const search = new RunningSearch(owner);
  running.set(ticket, search);
  return search.hits;
}

/** Has all searches of an owner end soon, and waits for it. */
export async function cancelSearches(owner: object): Promise<void> {
  const own = [...running].filter(([, search]) => search.owner === owner);
  for (const [ticket] of own) addon.searchCancel(ticket);
  await Promise.allSettled(own.map(([, { hits }]) => hits));
}
