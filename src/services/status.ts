import type { IndexDescription } from '../core/index-description.ts';
import { toTimestamp } from '../core/timestamps.ts';
import type { ParsingDocument } from '../ingest/job-runner.ts';
import type { ModelChangeProgress } from '../ingest/model-change-run.ts';
import type { OrganizationPrincipal } from '../schemas/principal.ts';
import type { ParsingProgress, StatusRequest, StatusResponse } from '../schemas/status.ts';
import type { Collection, Collections } from '../storage/collections.ts';
import type { CollectionCounts } from '../storage/counts.ts';
import type { Documents } from '../storage/documents.ts';
import type { VersionHistory } from '../storage/version-history.ts';
import { canAccessDocument, documentFilterOf } from './access-filter.ts';
import type { ServiceCall } from './call.ts';
import { findCollection, listVisibleCollections } from './collections.ts';
import { VisibleCounts, type VisibleCountsOptions } from './visible-counts.ts';

export interface StatusServicesOptions extends VisibleCountsOptions {
  readonly collections: Collections;
  readonly documents: Pick<Documents, 'list' | 'get'>;
  readonly history: Pick<VersionHistory, 'countBytes'>;
  /**
   * Returns the reason why documents of a collection are not being indexed, as a sentence; null when nothing
   * blocks them.
   */
  readonly findWaitReason: (collectionId: string) => string | null;
  /** Model of collections without a stored model. */
  readonly modelDefault: string;
  /** Returns the documents of a collection that are being parsed. */
  readonly parsingDocumentsIn: (collectionId: string) => readonly ParsingDocument[];
  /** Returns the progress of a model change of a collection; null when there is none. */
  readonly modelChangeOf: (collection: Collection) => ModelChangeProgress | null;
  readonly describeIndex: (collectionId: string) => Promise<IndexDescription>;
}

/** Reports document counts by status, from counters that every write updates exactly. */
export class StatusServices {
  readonly #options: StatusServicesOptions;
  readonly #counts: VisibleCounts;

  constructor(options: StatusServicesOptions) {
    this.#options = options;
    this.#counts = new VisibleCounts(options);
  }

  async getStatus(call: ServiceCall<OrganizationPrincipal>, request: StatusRequest): Promise<StatusResponse> {
    const { collections, findWaitReason } = this.#options;
    const { principal } = call;
    const name = request.collection_name ?? null;
    const requestedCollections =
      name === null
        ? await listVisibleCollections(collections, principal)
        : [findCollection(collections, principal, name)];
    const collectionCounts = [];
    for (const { collectionId } of requestedCollections)
      collectionCounts.push({ collectionId, ...(await this.#counts.get(principal, collectionId)) });
    const unfinished = collectionCounts.filter(
      ({ documents }) => documents.not_indexed + documents.indexing > 0,
    );
    const reasons = new Set(unfinished.flatMap(({ collectionId }) => findWaitReason(collectionId) ?? []));
    const parsing = requestedCollections.flatMap((collection) =>
      this.#parsingDocuments(principal, collection),
    );
    // The progress counts documents of the whole collection, so a key with a document filter does not get it.
    const changes =
      documentFilterOf(principal) === null
        ? requestedCollections.flatMap((collection) => this.#modelChangesOf(collection))
        : [];
    return {
      ...summarize(collectionCounts),
      ...(reasons.size === 0 ? {} : { waiting_for: [...reasons] }),
      ...(name === null
        ? {}
        : { embedding_model: requestedCollections[0]?.model?.id ?? this.#options.modelDefault }),
      ...(parsing.length === 0 ? {} : { parsing_documents: parsing }),
      ...(changes.length === 0 ? {} : { model_changes: changes }),
      ...(await this.#details(principal, request, requestedCollections[0])),
    };
  }

  /** Empty unless the request asks for the details of one collection and the caller may read all of it. */
  async #details(
    principal: OrganizationPrincipal,
    { include_details: isRequested, collection_name: name = null }: StatusRequest,
    collection: Collection | undefined,
  ): Promise<Pick<StatusResponse, 'details'>> {
    const isAllowed = documentFilterOf(principal) === null;
    if (isRequested !== true || name === null || collection === undefined || !isAllowed) return {};
    const { counts, history } = this.#options;
    const { collectionId, createdAt, shards, historyDays } = collection;
    const index = await this.#options.describeIndex(collectionId);
    return {
      details: {
        created_at: toTimestamp(createdAt),
        num_shards: shards,
        num_stored_bytes: counts.get(collectionId).storedBytes,
        ...(historyDays === undefined ? {} : { num_history_bytes: history.countBytes(collectionId) }),
        index_state: index.state,
        num_chunks: index.rows,
        num_removed_chunks: index.deadRows,
        num_index_memory_bytes: index.memoryBytes,
        num_index_disk_bytes: index.diskBytes,
      },
    };
  }

  #parsingDocuments(
    principal: OrganizationPrincipal,
    { collectionId, name }: Collection,
  ): NonNullable<StatusResponse['parsing_documents']> {
    const { parsingDocumentsIn, documents } = this.#options;
    return parsingDocumentsIn(collectionId).flatMap((document) => {
      const { path } = document;
      if (principal.restriction !== undefined) {
        const record = documents.get(collectionId, path);
        if (record === undefined || !canAccessDocument(principal, record)) return [];
      }
      return [{ collection_name: name, path, ...toParsingProgress(document) }];
    });
  }

  #modelChangesOf(collection: Collection): NonNullable<StatusResponse['model_changes']> {
    const change = this.#options.modelChangeOf(collection);
    if (change === null) return [];
    const { model, done, total, waitReason: problem } = change;
    return [
      {
        collection_name: collection.name,
        embedding_model: model,
        num_documents: total,
        num_documents_done: done,
        ...(problem === null ? {} : { waiting_for: problem }),
      },
    ];
  }
}

/** Converts parsing progress to its wire format. */
export function toParsingProgress({ stage, page, of, elapsedMs }: ParsingDocument): ParsingProgress {
  return { stage, num_pages_done: page, num_pages: of, elapsed_ms: Math.round(elapsedMs) };
}

function summarize(counts: readonly CollectionCounts[]): StatusResponse {
  const total = (read: (count: CollectionCounts) => number) =>
    counts.reduce((sum, count) => sum + read(count), 0);
  const parsing = total(({ documents }) => documents.not_parsed + documents.parsing);
  const indexing = total(({ documents }) => documents.not_indexed + documents.indexing);
  const indexed = total(({ documents }) => documents.indexed);
  const failed = total(({ documents }) => documents.parsing_failed + documents.indexing_failed);
  return {
    num_documents: parsing + indexing + indexed + failed,
    num_parsing_documents: parsing,
    num_indexing_documents: indexing,
    num_indexed_documents: indexed,
    num_failed_documents: failed,
    num_indexed_bytes: total((count) => count.indexedBytes),
  };
}
