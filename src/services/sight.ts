import type { KeyRestriction, OrganisationPrincipal } from '../schemas/principal.ts';
import { parseFilter } from '../search/filter.ts';
import { matchesFilter } from '../search/filter-match.ts';
import type { SearchRequest } from '../search/query-request.ts';
import type { DocumentRecord } from '../store/documents.ts';

/**
 * What a caller sees of its organisation. For a key with a restriction nothing else is there: every use case asks here,
 * so that what is hidden answers in the same words as what never was.
 */

type Filter = NonNullable<SearchRequest['filter']>;

interface Sight {
  /** Null: all collections. */
  readonly collections: ReadonlySet<string> | null;
  /** Null: all documents of these. */
  readonly filter: Filter | null;
}

const everything: Sight = { collections: null, filter: null };
/** A restriction lives as long as the door remembers its key, and is understood once. */
const sights = new WeakMap<KeyRestriction, Sight>();

function sightOf({ restriction }: OrganisationPrincipal): Sight {
  if (restriction === undefined) return everything;
  const known = sights.get(restriction);
  if (known !== undefined) return known;
  const { collections, filter } = restriction;
  const sight = {
    collections: collections === null ? null : new Set(collections),
    filter: parseFilter(filter),
  };
  sights.set(restriction, sight);
  return sight;
}

export function seesCollection(principal: OrganisationPrincipal, name: string): boolean {
  const { collections } = sightOf(principal);
  return collections === null || collections.has(name);
}

/** The filter that a caller cannot leave; null for one that sees every document of its collections. */
export function filterOf(principal: OrganisationPrincipal): Filter | null {
  return sightOf(principal).filter;
}

/** Whether a caller sees documents with these metadata. */
export function seesDocument(
  principal: OrganisationPrincipal,
  { metadata }: Pick<DocumentRecord, 'metadata'>,
): boolean {
  const { filter } = sightOf(principal);
  return filter === null || matchesFilter(filter, metadata);
}

/** What a caller asks for, within what it sees. */
export function within(principal: OrganisationPrincipal, asked: Filter | null): Filter | null {
  const { filter } = sightOf(principal);
  if (filter === null) return asked;
  return asked === null ? filter : { kind: 'and', nodes: [filter, asked] };
}
