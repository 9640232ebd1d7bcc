import type { KeyRestriction, OrganizationPrincipal } from '../schemas/principal.ts';
import { parseFilter } from '../search/filter.ts';
import { matchesFilter } from '../search/filter-match.ts';
import type { SearchRequest } from '../search/query-request.ts';
import type { DocumentRecord } from '../storage/documents.ts';

/**
 * Documents and collections that a caller may read. Every use case checks here, so that the reply for hidden
 * data is identical to the reply for data that does not exist.
 */

type Filter = NonNullable<SearchRequest['filter']>;

interface AccessFilter {
  /** Null: all collections. */
  readonly collections: ReadonlySet<string> | null;
  /** Null: all documents of these collections. */
  readonly filter: Filter | null;
}

const unrestricted: AccessFilter = { collections: null, filter: null };
/** Cached for as long as the key restriction is cached, so that each is parsed once. */
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

/** Mandatory filter of a caller; null for one that may read every document of its collections. */
export function documentFilterOf(principal: OrganizationPrincipal): Filter | null {
  return accessFilterOf(principal).filter;
}

/** Whether a caller may read documents with these metadata. */
export function canAccessDocument(
  principal: OrganizationPrincipal,
  { metadata }: Pick<DocumentRecord, 'metadata'>,
): boolean {
  const { filter } = accessFilterOf(principal);
  return filter === null || matchesFilter(filter, metadata);
}

/** Combines the requested filter with the mandatory one. */
export function restrictFilter(principal: OrganizationPrincipal, requested: Filter | null): Filter | null {
  const { filter } = accessFilterOf(principal);
  if (filter === null) return requested;
  return requested === null ? filter : { kind: 'and', nodes: [filter, requested] };
}
