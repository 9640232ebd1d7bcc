import { actorOf } from '../audit/actor.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../core/app-error.ts';
import { limits } from '../core/limits.ts';
import type { DocumentWriter } from '../ingest/document-writer.ts';
import type {
  DeleteDocumentsRequest,
  DeleteDocumentsResponse,
  MetadataPatch,
  UpdateDocumentsRequest,
  UpdateDocumentsResponse,
} from '../schemas/document-changes.ts';
import { successResponse } from '../schemas/wire.ts';
import { parseFilter } from '../search/filter.ts';
import { matchesFilter } from '../search/filter-match.ts';
import type { Collections } from '../storage/collections.ts';
import type { DocumentRecord, Documents } from '../storage/documents.ts';
import { accessCollection, type CollectionAccess, type DocumentCall } from './document-access.ts';
import type { IngestCheck } from './document-uploads.ts';
import { applyMetadataPatch, areEqualMetadata, patchMetadata } from './metadata-patch.ts';

export interface DocumentChangeServicesOptions {
  readonly collections: Collections;
  readonly documents: Pick<Documents, 'list'>;
  readonly writer: Pick<DocumentWriter, 'remove' | 'updateMetadata'>;
  readonly audit: Pick<AuditLog, 'entryOperation'>;
  readonly admission: IngestCheck;
  readonly metadataBytesMax: (organizationId: string) => number;
}

type Selection = Pick<
  DeleteDocumentsRequest,
  'collection_name' | 'filter' | 'path_prefix' | 'limit' | 'dry_run'
>;

/** Documents that are changed at the same time. */
const batchDocuments = 64;

interface DocumentUpdates {
  readonly paths: readonly string[];
  readonly patch: MetadataPatch;
  readonly matches: (record: DocumentRecord) => boolean;
}

/** Documents that a call changes. */
interface SelectedDocuments {
  /** Paths of at most `limit` documents, in ascending order. */
  readonly paths: readonly string[];
  readonly hasMore: boolean;
  /** Number of matching documents; without `dry_run` counted up to the one after the limit. */
  readonly matching: number;
}

/**
 * Changes all documents of a collection that match a filter, at most `limit` per call. Each document is changed
 * on its own: after an error or a crash, some are changed, and the same call continues with the others.
 */
export class DocumentChangeServices {
  readonly #options: DocumentChangeServicesOptions;

  constructor(options: DocumentChangeServicesOptions) {
    this.#options = options;
  }

  /** Errors: 400 without a filter and a prefix, or for an invalid filter; 404 for an unknown collection. */
  async deleteDocuments(
    call: DocumentCall,
    request: DeleteDocumentsRequest,
  ): Promise<DeleteDocumentsResponse> {
    const access = accessCollection(this.#options.collections, call, request.collection_name);
    const accepts = createSelector(access, request);
    const selected = await this.#select(call, access, request, accepts);
    const dryRun = request.dry_run ?? false;
    const deleted = dryRun ? selected.paths : await this.#delete(call, access, selected.paths, accepts);
    return {
      deleted_paths: [...deleted],
      has_more: selected.hasMore,
      ...(dryRun ? { num_matching: selected.matching } : {}),
      ...successResponse,
    };
  }

  /**
   * Errors: those of `deleteDocuments`; 400 if the metadata of a document would be invalid, 403 if the key could
   * not read the document afterwards. Documents before it in the order of paths are changed.
   */
  async updateDocuments(
    call: DocumentCall,
    request: UpdateDocumentsRequest,
  ): Promise<UpdateDocumentsResponse> {
    const access = accessCollection(this.#options.collections, call, request.collection_name);
    const matches = createSelector(access, request);
    const { metadata_patch: patch } = request;
    const skipped: string[] = [];
    const accepts = (record: DocumentRecord) => {
      if (!matches(record) || !isChangedBy(record, patch)) return false;
      if (record.status === 'indexed') return true;
      if (skipped.length < limits.listDocumentsMax) skipped.push(record.path);
      return false;
    };
    this.#options.admission.check(access.collection.organizationId);
    const selected = await this.#select(call, access, request, accepts);
    const dryRun = request.dry_run ?? false;
    const { updated, skipped: late } = dryRun
      ? { updated: selected.paths, skipped: [] }
      : await this.#update(call, access, { paths: selected.paths, patch, matches });
    return {
      updated_paths: [...updated],
      skipped_paths: [...skipped, ...late],
      has_more: selected.hasMore,
      ...(dryRun ? { num_matching: selected.matching } : {}),
      ...successResponse,
    };
  }

  async #select(
    call: DocumentCall,
    { collection }: CollectionAccess,
    { path_prefix: prefix, limit = limits.listDocumentsMax, dry_run: countsAll = false }: Selection,
    accepts: (record: DocumentRecord) => boolean,
  ): Promise<SelectedDocuments> {
    const paths: string[] = [];
    let matching = 0;
    const options = prefix == null ? {} : { prefix };
    for await (const record of this.#options.documents.list(collection.collectionId, options)) {
      if (call.cancellation.isCanceled) throw canceledError();
      const pause = call.yieldToEventLoop();
      if (pause !== null) await pause;
      if (!accepts(record)) continue;
      matching += 1;
      if (paths.length < limit) paths.push(record.path);
      else if (!countsAll) break;
    }
    return { paths, hasMore: matching > paths.length, matching };
  }

  async #delete(
    { principal, address, cancellation }: DocumentCall,
    { collection }: CollectionAccess,
    paths: readonly string[],
    accepts: (record: DocumentRecord) => boolean,
  ): Promise<string[]> {
    if (paths.length === 0) return [];
    // Every deletion writes the same entry, so that none happens without it.
    const entry = this.#options.audit.entryOperation({
      organizationId: principal.organizationId,
      actor: actorOf(principal),
      address: address(),
      action: 'document.deleted',
      target: collection.name,
      details: { paths: paths.length, filter: true },
    });
    const deleted: string[] = [];
    for (let start = 0; start < paths.length; start += batchDocuments) {
      if (cancellation.isCanceled) throw canceledError();
      const batch = paths.slice(start, start + batchDocuments);
      const options = { isVisible: accepts, extraOperations: [entry] };
      deleted.push(...(await this.#options.writer.remove(collection, batch, options)));
    }
    return deleted;
  }

  async #update(
    { cancellation }: DocumentCall,
    access: CollectionAccess,
    { paths, patch, matches }: DocumentUpdates,
  ): Promise<{ updated: string[]; skipped: string[] }> {
    const updated: string[] = [];
    const skipped: string[] = [];
    for (let start = 0; start < paths.length; start += batchDocuments) {
      if (cancellation.isCanceled) throw canceledError();
      const batch = paths.slice(start, start + batchDocuments);
      const outcomes = await Promise.allSettled(
        batch.map((path) => this.#updateDocument(access, path, patch, matches)),
      );
      for (const [i, outcome] of outcomes.entries()) {
        if (outcome.status === 'rejected') throw outcome.reason;
        if (outcome.value === 'updated') updated.push(batch[i]!);
        else if (outcome.value === 'skipped') skipped.push(batch[i]!);
      }
    }
    return { updated, skipped };
  }

  /** Returns null for a document that no longer exists or matches. */
  async #updateDocument(
    access: CollectionAccess,
    path: string,
    patch: MetadataPatch,
    matches: (record: DocumentRecord) => boolean,
  ): Promise<'updated' | 'skipped' | null> {
    const { writer, metadataBytesMax } = this.#options;
    const bytesMax = metadataBytesMax(access.collection.organizationId);
    const change = (existing: DocumentRecord) => ({
      metadata: patchMetadata(access, existing, patch, bytesMax),
    });
    try {
      await writer.updateMetadata(access.collection, path, change, matches);
      return 'updated';
    } catch (error) {
      // Another call has changed the document since it was selected.
      if (error instanceof AppError && error.code === 'not_found') return null;
      if (error instanceof AppError && error.code === 'precondition_failed') return 'skipped';
      throw error;
    }
  }
}

/** Errors: 400 for a request that selects all documents, and for an invalid filter. */
function createSelector(access: CollectionAccess, request: Selection): (record: DocumentRecord) => boolean {
  const filter = parseFilter(request.filter, access.collection.metadataSchema);
  const prefix = request.path_prefix ?? '';
  if (filter === null && prefix === '')
    throw new AppError(
      'bad_request',
      'Send a filter or a path_prefix: without them the call would change all documents. To delete all of them, delete the collection.',
    );
  return (record) => access.isVisible(record) && (filter === null || matchesFilter(filter, record.metadata));
}

function canceledError(): AppError {
  return new AppError('unavailable', 'The call was canceled before it was complete. Repeat it to continue.');
}

function isChangedBy({ metadata }: DocumentRecord, patch: MetadataPatch): boolean {
  return !areEqualMetadata(metadata, applyMetadataPatch(metadata, patch));
}
