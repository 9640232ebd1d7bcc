import type { ParsingDocument } from '../pipeline/ingest.ts';
import type { OrganisationPrincipal } from '../schemas/principal.ts';
import type { ParsingProgress, StatusRequest, StatusResponse } from '../schemas/status.ts';
import type { Collection, Collections } from '../store/collections.ts';
import type { CollectionCounts } from '../store/counts.ts';
import type { Documents } from '../store/documents.ts';
import type { Call } from './call.ts';
import { collectionsOf, findCollection } from './collections.ts';
import { SeenCounts, type SeenCountsOptions } from './seen-counts.ts';
import { filterOf, seesDocument } from './sight.ts';

export interface StatusServicesOptions extends SeenCountsOptions {
  readonly collections: Collections;
  readonly documents: Pick<Documents, 'list' | 'get'>;
  /** Why documents of a collection are not indexed just now, as a sentence; null when nothing is in their way. */
  readonly waitsFor: (collectionId: string) => string | null;
  /** The model of collections that do not remember theirs. */
  readonly firstModel: string;
  /** Documents of a collection that are read just now. */
  readonly parsingIn: (collectionId: string) => readonly ParsingDocument[];
  /** How far the change of a collection's model is; null when there is none. */
  readonly changeOf: (collection: Collection) => {
    readonly model: string;
    readonly done: number;
    readonly total: number;
    readonly trouble: string | null;
  } | null;
}

/** How many documents stand where, from counts that every write keeps exact. */
export class StatusServices {
  readonly #options: StatusServicesOptions;
  readonly #counts: SeenCounts;

  constructor(options: StatusServicesOptions) {
    this.#options = options;
    this.#counts = new SeenCounts(options);
  }

  async getStatus(call: Call<OrganisationPrincipal>, request: StatusRequest): Promise<StatusResponse> {
    const { collections, waitsFor } = this.#options;
    const { principal } = call;
    const name = request.collection_name ?? null;
    const asked =
      name === null
        ? await collectionsOf(collections, principal)
        : [findCollection(collections, principal, name)];
    const found = [];
    for (const { collectionId } of asked)
      found.push({ collectionId, ...(await this.#counts.get(principal, collectionId)) });
    const waiting = found.filter(({ documents }) => documents.not_indexed + documents.indexing > 0);
    const reasons = new Set(waiting.flatMap(({ collectionId }) => waitsFor(collectionId) ?? []));
    const parsing = asked.flatMap((collection) => this.#parsing(principal, collection));
    // They count the documents of the whole collection.
    const changes =
      filterOf(principal) === null ? asked.flatMap((collection) => this.#changeOf(collection)) : [];
    return {
      ...summarise(found),
      ...(reasons.size === 0 ? {} : { waiting_for: [...reasons] }),
      ...(name === null ? {} : { embedding_model: asked[0]?.model?.id ?? this.#options.firstModel }),
      ...(parsing.length === 0 ? {} : { parsing_documents: parsing }),
      ...(changes.length === 0 ? {} : { model_changes: changes }),
    };
  }

  #parsing(
    principal: OrganisationPrincipal,
    { collectionId, name }: Collection,
  ): NonNullable<StatusResponse['parsing_documents']> {
    const { parsingIn, documents } = this.#options;
    return parsingIn(collectionId).flatMap((document) => {
      const { path } = document;
      if (principal.restriction !== undefined) {
        const record = documents.get(collectionId, path);
        if (record === undefined || !seesDocument(principal, record)) return [];
      }
      return [{ collection_name: name, path, ...progressOf(document) }];
    });
  }

  #changeOf(collection: Collection): NonNullable<StatusResponse['model_changes']> {
    const change = this.#options.changeOf(collection);
    if (change === null) return [];
    const { model, done, total, trouble } = change;
    return [
      {
        collection_name: collection.name,
        embedding_model: model,
        num_documents: total,
        num_documents_done: done,
        ...(trouble === null ? {} : { waiting_for: trouble }),
      },
    ];
  }
}

/** Progress as replies show it. */
export function progressOf({ stage, page, of, elapsedMs }: ParsingDocument): ParsingProgress {
  return { stage, num_pages_done: page, num_pages: of, elapsed_ms: Math.round(elapsedMs) };
}

function summarise(counts: readonly CollectionCounts[]): StatusResponse {
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
