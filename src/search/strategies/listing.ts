import type { SortField } from '../../index/sort.ts';
import { callIndex } from '../call-index.ts';
import { readRecords } from '../chunk-hits.ts';
import type { RankedItem } from '../rerank.ts';
import type { DocumentHit, HitOrigin } from '../search-result.ts';
import type { ResultStrategy } from './result-strategy.ts';

const origin: HitOrigin = {
  location: null,
  lexical: 0,
  similarity: null,
  fused: 0,
  rerank: null,
  proximity: null,
  matches: [],
  matchesIn: () => [],
  modelText: () => '',
  relevance: null,
};

/** Versions of documents that match a filter, without scores; sorted, or in no particular order if `sort` is null. */
export function createListing(
  sort: readonly SortField[] | null,
): ResultStrategy<number, RankedItem<number>, DocumentHit> {
  return {
    ...listing,
    findItems: ({ getIndex, findExpired }, { request, generation, recorder, yieldToEventLoop }) =>
      recorder.measure('search', async () => {
        const { collection, filter, k, deadlineMs, caller } = request;
        const pause = yieldToEventLoop();
        if (pause !== null) await pause;
        const expired = sort === null ? null : await findExpired(collection.collectionId);
        const index = getIndex(collection.collectionId, generation);
        const versions = await callIndex(caller, () =>
          sort === null || expired === null
            ? index.list(filter, k, deadlineMs)
            : index.listSorted({ filter, sort, expired }, k, deadlineMs),
        );
        return { items: [...versions], candidates: { shards: [] } };
      }),
  };
}

const listing: Omit<ResultStrategy<number, RankedItem<number>, DocumentHit>, 'findItems'> = {
  textOf: () => '',
  fusedOf: () => 0,
  toResults: async (_components, _query, ranked) => ranked,
  limitsOf: ({ k }) => ({ k, maxPerDocument: Number.POSITIVE_INFINITY, minScore: 0 }),
  versionOf: ({ item }) => item,
  keyOf: ({ version }) => String(version.version),
  readHits: async (components, query, results) => {
    const records = await readRecords(
      components,
      query,
      results.map(({ item }) => item),
    );
    return records.flatMap((version) => (version === undefined ? [] : [{ version, score: 0, origin }]));
  },
};
