import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import type { DocumentCopier } from '../ingest/document-copier.ts';
import type { CloneCollectionRequest, CloneCollectionResponse } from '../schemas/collections.ts';
import type { OrganizationPrincipal } from '../schemas/principal.ts';
import { type Collection, type Collections, getGeneration } from '../storage/collections.ts';
import type { Documents } from '../storage/documents.ts';
import { ExpectationFailedError } from '../storage/store.ts';
import type { ServiceCall } from './call.ts';
import {
  type CollectionServices,
  collectionNotFoundError,
  findCollection,
  findExactCollection,
} from './collections.ts';
import type { DocumentQuotas, IngestCheck } from './document-uploads.ts';

export interface CollectionCloneServicesOptions {
  readonly collections: Collections;
  readonly documents: Documents;
  readonly copier: DocumentCopier;
  readonly collectionServices: Pick<CollectionServices, 'addClone'>;
  readonly admission: IngestCheck;
  readonly quotas: DocumentQuotas;
  readonly clock: Pick<Clock, 'monotonic'>;
}

type CloneCall = ServiceCall<OrganizationPrincipal>;

/** Documents copied concurrently, so that they share the synced write. */
const groupMax = 32;

/** Copies collections, some documents per call, within the quotas of their organization. */
export class CollectionCloneServices {
  readonly #options: CollectionCloneServicesOptions;

  constructor(options: CollectionCloneServicesOptions) {
    this.#options = options;
  }

  async cloneCollection(call: CloneCall, request: CloneCollectionRequest): Promise<CloneCollectionResponse> {
    const { collections, documents, clock } = this.#options;
    const from = findCollection(collections, call.principal, request.collection_name);
    const to = await this.#target(call, from, request);
    let last = request.path_gt ?? '';
    let copied = 0;
    let group: string[] = [];
    const isOver = () =>
      call.cancellation.isCanceled ||
      copied >= limits.cloneDocumentsMax ||
      clock.monotonic() - call.receivedAt >= limits.cloneMsMax;
    const copyGroup = async () => {
      const result = await this.#copyAll(group, from, to);
      copied += result.copied;
      last = result.last ?? last;
      group = [];
      // A client must learn why nothing more was copied; documents that were copied are reported first.
      if (result.error !== null && copied === 0) throw result.error;
      return result.error === null;
    };
    for await (const { path } of documents.list(from.collectionId, last === '' ? {} : { pathGt: last })) {
      group.push(path);
      if (group.length < groupMax) continue;
      if (!(await copyGroup()) || isOver()) return { num_documents: copied, path_gt: last };
    }
    const isComplete = group.length === 0 || (await copyGroup());
    return { num_documents: copied, path_gt: isComplete ? null : last };
  }

  /** Creates the copy in the first call, and finds it in the others. */
  async #target(call: CloneCall, from: Collection, request: CloneCollectionRequest): Promise<Collection> {
    const { collections, collectionServices } = this.#options;
    const name = request.new_collection_name;
    if ((request.path_gt ?? null) === null) return await collectionServices.addClone(call, from, name);
    const to = findExactCollection(collections, call.principal, name);
    const isSameModel = to.model?.id === from.model?.id && to.model?.version === from.model?.version;
    if (isSameModel && to.dimensions === from.dimensions && getGeneration(to) === getGeneration(from))
      return to;
    throw new AppError(
      'conflict',
      `The collections ${JSON.stringify(from.name)} and ${JSON.stringify(name)} do not have the same vectors, because the model of one was changed. Delete the copy and start over.`,
    );
  }

  /** Copies documents concurrently. `last`: the last path before the first error, null if there is none. */
  async #copyAll(
    paths: readonly string[],
    from: Collection,
    to: Collection,
  ): Promise<{ readonly copied: number; readonly last: string | null; readonly error: unknown }> {
    const { copier, admission, quotas } = this.#options;
    const { organizationId } = to;
    const outcomes = await Promise.allSettled(
      paths.map(async (path) => {
        admission.check(organizationId);
        return await copier.copy({ from, to, path }, (growth) => quotas.reserve(organizationId, growth));
      }),
    );
    const failed = outcomes.findIndex(({ status }) => status === 'rejected');
    const copied = outcomes.filter((outcome) => outcome.status === 'fulfilled' && outcome.value).length;
    if (failed === -1) return { copied, last: paths.at(-1) ?? null, error: null };
    const { reason } = outcomes[failed] as PromiseRejectedResult;
    const error = reason instanceof ExpectationFailedError ? collectionNotFoundError(to.name) : reason;
    return { copied, last: paths[failed - 1] ?? null, error };
  }
}
