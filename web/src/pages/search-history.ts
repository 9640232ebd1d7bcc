import { signal } from '@preact/signals';
import { historyKeyPrefix } from '../browser/history-storage.ts';
import { organizationId, session } from '../server/session.ts';
import { texts } from '../texts/en/search.ts';
import { fill } from '../texts/format-text.ts';
import { fromFragment, hasSubject } from './search-settings.ts';

/**
 * Queries that this user ran in the selected organization, in the storage of this browser. They are removed when no
 * user is signed in (`session.ts`).
 */

export interface HistoryEntry {
  readonly collection: string;
  /** Query and settings, as in the URL. */
  readonly fragment: string;
}

const entriesMax = 50;
/** Longer queries are not recorded. */
const fragmentUnitsMax = 2_000;

/** Incremented after each change, so that lists are rendered again. */
const changes = signal(0);
window.addEventListener('storage', ({ key }) => {
  if (key === null || key.startsWith(historyKeyPrefix)) changes.value += 1;
});

/** Queries of the signed-in user, the last one first; empty for signed-out visitors. */
export function searchHistory(): readonly HistoryEntry[] {
  changes.value;
  const key = storageKey();
  if (key === null) return [];
  try {
    const stored: unknown = JSON.parse(window.localStorage.getItem(key) ?? '[]');
    return Array.isArray(stored) ? stored.filter(isEntry).slice(0, entriesMax) : [];
  } catch {
    return []; // storage is disabled, or its content is not of this version
  }
}

/** The query of an entry in words. */
export function describeEntry({ fragment }: HistoryEntry): string {
  const { query, similarTo } = fromFragment(fragment);
  return query.trim() === '' && similarTo !== null
    ? fill(texts.similarToPath, { path: similarTo.path })
    : query;
}

export function recordQuery(entry: HistoryEntry): void {
  if (entry.fragment.length > fragmentUnitsMax) return;
  const others = searchHistory().filter(
    ({ collection, fragment }) => collection !== entry.collection || fragment !== entry.fragment,
  );
  write([entry, ...others].slice(0, entriesMax));
}

/** Removes the queries of the user in the selected organization. */
export function clearHistory(): void {
  write([]);
}

function storageKey(): string | null {
  const { value } = session;
  return value.state === 'in' ? `${historyKeyPrefix}${value.account.user.id}.${organizationId()}` : null;
}

function write(entries: readonly HistoryEntry[]): void {
  const key = storageKey();
  if (key === null) return;
  try {
    if (entries.length === 0) window.localStorage.removeItem(key);
    else window.localStorage.setItem(key, JSON.stringify(entries));
  } catch {
    // Storage is disabled or full: the query is not recorded.
  }
  changes.value += 1;
}

function isEntry(value: unknown): value is HistoryEntry {
  const { collection, fragment } = (value ?? {}) as Partial<HistoryEntry>;
  return typeof collection === 'string' && typeof fragment === 'string' && hasSubject(fromFragment(fragment));
}
