import type { Settings } from '../config/schema.ts';
import { AppError } from '../core/app-error.ts';
import type { Logger } from '../core/logger.ts';
import { Metrics } from '../core/metrics.ts';
import { createEgress } from '../egress/create-egress.ts';
import { defaultControl } from '../search/query-request.ts';
import type { Search } from '../search/search.ts';
import { readDocumentText } from '../services/document-text.ts';
import type { Collection } from '../storage/collections.ts';
import type { DataDirectory } from '../storage/data-directory.ts';
import { Organizations } from '../storage/organizations.ts';
import { buildSearch } from './pipeline.ts';
import type { ResourceStack } from './resource-stack.ts';
import { openRetrieval } from './retrieval.ts';
import type { Storage } from './storage.ts';

/** Checks a restored data directory as a server would use it, without accepting requests or background work. */

export interface RestoredCheck {
  readonly collections: number;
  readonly documents: number;
  readonly searches: number;
}

/** Documents of each collection that are searched for. */
const sampledDocuments = 5;
const queryUnits = 300;
const resultsMax = 100;
const searchMsMax = 60_000;

/**
 * Opens every collection, so that its index is built from the store, compares the counts of documents, and
 * searches for the text of some documents. Errors: AppError when something differs.
 */
export async function checkRestored(
  settings: Settings,
  resources: ResourceStack,
  { data, logger }: { readonly data: DataDirectory; readonly logger: Logger },
): Promise<RestoredCheck> {
  const organizations = new Organizations(data.store);
  const { storage, pipeline } = await openRetrieval(settings, resources, {
    data,
    organizations: { find: (id) => organizations.find(id), mayLogContent: false },
    egress: createEgress(settings),
    logger,
    metrics: new Metrics(),
    tracer: null,
  });
  const search = buildSearch(settings, storage, pipeline);
  const total = { collections: 0, documents: 0, searches: 0 };
  for (const collection of await storage.collections.listAll()) {
    await storage.indexes.open(collection);
    total.collections += 1;
    total.documents += await checkCounts(storage, collection);
    total.searches += await checkSearches(storage, search, collection);
  }
  await storage.indexes.snapshot();
  return total;
}

async function checkCounts({ counts }: Storage, { collectionId, name }: Collection): Promise<number> {
  const recounted = await counts.recount(collectionId);
  const stored = counts.get(collectionId);
  if (!counts.isIncomplete(collectionId) && JSON.stringify(stored) !== JSON.stringify(recounted))
    throw new AppError(
      'bad_gateway',
      `The counts of the restored collection ${JSON.stringify(name)} differ from its documents: ${JSON.stringify(stored)} instead of ${JSON.stringify(recounted)}.`,
    );
  return Object.values(recounted.documents).reduce((sum, count) => sum + count, 0);
}

/** Returns the number of searches; at least one of them must find its document. */
async function checkSearches(storage: Storage, search: Search, collection: Collection): Promise<number> {
  let searches = 0;
  let found = 0;
  for await (const { path, status, documentId } of storage.documents.list(collection.collectionId)) {
    if (status !== 'indexed') continue;
    const query = await readStart(storage, documentId);
    if (!/\p{L}{4}/u.test(query)) continue;
    const { hits } = await search.searchDocuments({
      collection,
      query,
      k: resultsMax,
      filter: null,
      reranker: null,
      isWide: false,
      deadlineMs: searchMsMax,
      caller: { isCanceled: false, signal: new AbortController().signal, onCanceled: () => undefined },
      yieldToEventLoop: () => null,
      explain: false,
      control: { ...defaultControl, weights: { lexical: 1, vector: 0 } },
    });
    searches += 1;
    if (hits.some((hit) => hit.version.path === path)) found += 1;
    if (searches === sampledDocuments) break;
  }
  if (searches > 0 && found === 0)
    throw new AppError(
      'bad_gateway',
      `Searches in the restored collection ${JSON.stringify(collection.name)} find none of ${searches} documents by their text.`,
    );
  return searches;
}

async function readStart({ contents }: Storage, documentId: string): Promise<string> {
  let text = '';
  for (const part of (await readDocumentText(contents, documentId)) ?? []) {
    text += part;
    if (text.length >= queryUnits) break;
  }
  return text.slice(0, queryUnits).toWellFormed();
}
