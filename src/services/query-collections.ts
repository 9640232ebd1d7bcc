import { AppError } from '../core/app-error.ts';
import type { FieldTypes, MetadataType } from '../core/metadata-types.ts';
import type { OrganizationPrincipal } from '../schemas/principal.ts';
import { parseFilter } from '../search/filter.ts';
import type { SearchMember } from '../search/query-request.ts';
import type { Collection, Collections } from '../storage/collections.ts';
import { restrictFilter } from './access-filter.ts';
import { findCollection } from './collections.ts';

interface CollectionNames {
  readonly collection_name: string;
  readonly collection_names?: readonly string[] | null | undefined;
  readonly filter?: unknown;
}

/** Collections of a request: see `SearchRequest`. */
interface RequestCollections {
  readonly collection: Collection;
  readonly members: readonly SearchMember[] | null;
}

/**
 * Returns the collections that a request names, each once. Errors: 404 for one that does not exist or that the caller may
 * not read, 400 for an invalid filter.
 */
export function findRequestCollections(
  collections: Collections,
  principal: OrganizationPrincipal,
  { collection_name: first, collection_names: others, filter }: CollectionNames,
): RequestCollections {
  const collection = findCollection(collections, principal, first);
  if ((others ?? []).length === 0) return { collection, members: null };
  const members = new Map<string, SearchMember>();
  for (const name of [first, ...others!]) {
    const found = findCollection(collections, principal, name);
    if (members.has(found.collectionId)) continue;
    const own = restrictFilter(principal, parseFilter(filter, found.metadataSchema));
    members.set(found.collectionId, { collection: found, name, filter: own });
  }
  const all = [...members.values()];
  const languages = [...new Set(all.flatMap((member) => member.collection.languages))];
  // Several collections have no common synonyms, stop words and curations, like no common defaults.
  const { synonyms: _, stopWords: __, curations: ___, ...common } = collection;
  const metadataSchema = toCommonTypes(all);
  return { collection: { ...common, languages, metadataSchema }, members: all };
}

/**
 * Returns the types of metadata by which the documents of all collections are ordered and counted together: a field that
 * one of them declares as a date is a date in all of them, and one has points only if no other type is declared.
 */
function toCommonTypes(members: readonly SearchMember[]): FieldTypes {
  const types = new Map<string, MetadataType>();
  for (const { collection } of members)
    for (const [field, type] of Object.entries(collection.metadataSchema ?? {})) {
      const known = types.get(field) ?? 'geo';
      if (known === 'geo' || type === 'date') types.set(field, type);
    }
  return Object.fromEntries(types);
}

/**
 * Errors: 400 for collections whose vectors come from different models, whose scores are not comparable. `defaultModel`:
 * that of collections without a stored model.
 */
export function checkCommonModel(members: readonly SearchMember[], defaultModel: string): void {
  const [first, ...others] = members;
  const isSame = (one: Collection, other: Collection) =>
    (one.model?.id ?? defaultModel) === (other.model?.id ?? defaultModel) &&
    (one.model === undefined || other.model === undefined || one.model.version === other.model.version) &&
    one.dimensions === other.dimensions;
  const other = others.find(({ collection }) => !isSame(collection, first!.collection));
  if (other === undefined) return;
  throw new AppError(
    'bad_request',
    `The collections ${JSON.stringify(first!.name)} and ${JSON.stringify(other.name)} have vectors of different models, whose scores are not comparable. Query them separately, or by words only, with the weights {"lexical": 1, "vector": 0}.`,
  );
}
