import { addon, type CollectionHandle, type NativeSelection } from './addon.ts';
import { encodeMilliseconds, encodeOptionalFilter, type FilterNode } from './encoding.ts';
import { decodeFacets, encodeFacets, type FacetCount, type FacetResult } from './facets.ts';
import { encodeSort, type SortedListing } from './sort.ts';

/** The documents of one index that match a filter. */
export interface IndexSelection {
  /** Null: all documents. */
  readonly filter: FilterNode | null;
  /** Runs an operation of the engine, for which `close` of the index waits. Errors: IndexError. */
  readonly run: <T>(start: (handle: CollectionHandle) => Promise<T>) => Promise<T>;
}

/** A version, and the position of its selection. */
export interface ListedVersion {
  readonly version: number;
  readonly selection: number;
}

/** Returns the first versions of all selections in an order, at most `limit`. */
export async function listSorted(
  selections: readonly IndexSelection[],
  { sort, expired }: Omit<SortedListing, 'filter'>,
  limit: number,
  deadlineMs: number,
): Promise<ListedVersion[]> {
  const milliseconds = encodeMilliseconds(deadlineMs);
  const listed = await runOnAll(selections, (native) =>
    addon.collectionsSortedList(native, encodeSort(sort), expired, limit, milliseconds),
  );
  return Array.from({ length: listed.length / 2 }, (_, i) => ({
    version: listed[2 * i]!,
    selection: listed[2 * i + 1]!,
  }));
}

/** Counts the documents of all selections by values. */
export async function countFacets(
  selections: readonly IndexSelection[],
  { facets, expired }: Omit<FacetCount, 'filter'>,
  deadlineMs: number,
): Promise<FacetResult[]> {
  const milliseconds = encodeMilliseconds(deadlineMs);
  const counted = await runOnAll(selections, (native) =>
    addon.collectionsFacets(native, encodeFacets(facets), expired, milliseconds),
  );
  return decodeFacets(counted, facets);
}

/** Starts an operation on the indexes of all selections, for which `close` of each of them waits. */
function runOnAll<T>(
  selections: readonly IndexSelection[],
  start: (native: readonly NativeSelection[]) => Promise<T>,
): Promise<T> {
  const [first, ...others] = selections;
  if (first === undefined) return start([]);
  return first.run((handle) =>
    runOnAll(others, (native) => start([{ handle, filter: encodeOptionalFilter(first.filter) }, ...native])),
  );
}
