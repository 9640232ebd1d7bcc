import type { KeyRestriction, OrganizationPrincipal } from '../schemas/principal.ts';
import { parseFilter } from '../search/filter.ts';
import { matchesFilter } from '../search/filter-match.ts';
import type { SearchRequest } from '../search/query-request.ts';
import type { DocumentRecord } from '../storage/documents.ts';

/**
 * What a caller sees of its organisation. For a key with a restriction nothing else is there: every use case asks here,
 * so that what is hidden answers in the same words as what never was.
 */

type Filter = NonNullable<SearchRequest['filter']>;

interface AccessFilter {
  /** Null: all collections. */
  readonly collections: ReadonlySet<string> | null;
  /** Null: all documents of these. */
  readonly filter: Filter | null;
}

const unrestricted: AccessFilter = { collections: null, filter: null };
/** A restriction lives as long as the door remembers its key, and is understood once. */
const accessFilters = new WeakMap<KeyRestriction, AccessFilter>();

function accessFilterOf({ restriction }: OrganizationPrincipal): AccessFilter {
  if (restriction === undefined) return unrestricted;
  const cached = accessFilters.get(restriction);
  if (cached !== undefined) return cached;
  const { collections, filter } = restriction;
  const accessFilter = {
    collections: collections === null ? null : new Set(collections),
    filter: parseFilter(filter),
  };
  accessFilters.set(restriction, accessFilter);
  return accessFilter;
}

export function canAccessCollection(principal: OrganizationPrincipal, name: string): boolean {
  const { collections } = accessFilterOf(principal);
  return collections === null || collections.has(name);
}

/** The filter that a caller cannot leave; null for one that sees every document of its collections. */
export function documentFilterOf(principal: OrganizationPrincipal): Filter | null {
  return accessFilterOf(principal).filter;
}

/** Whether a caller sees documents with these metadata. */
export function canAccessDocument(
  principal: OrganizationPrincipal,
  { metadata }: Pick<DocumentRecord, 'metadata'>,
): boolean {
  const { filter } = accessFilterOf(principal);
  return filter === null || matchesFilter(filter, metadata);
}

/** What a caller asks for, within what it sees. */
export function restrictFilter(principal: OrganizationPrincipal, requested: Filter | null): Filter | null {
  const { filter } = accessFilterOf(principal);
  if (filter === null) return requested;
  return requested === null ? filter : { kind: 'and', nodes: [filter, requested] };
}
