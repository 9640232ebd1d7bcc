import { AppError } from '../core/app-error.ts';
import { KeyedMutex } from '../core/async/mutex.ts';
import { formatCount } from '../core/format.ts';
import type { Principal } from '../schemas/principal.ts';
import type { ExceededLimit, LimitCharge, LimitName, RateLimiter } from './rate-limiter.ts';
import type { OrganizationLimits } from './tiers.ts';

/** Number of documents, and the raw bytes of their files and texts. */
export interface StorageUsage {
  readonly documents: number;
  readonly bytes: number;
}

export interface QuotasOptions {
  readonly limitsOf: (organizationId: string) => OrganizationLimits;
  readonly limiter: RateLimiter;
  /**
   * Collections of an organization; `storageUsageIn` counts everything that was acknowledged in one of them.
   */
  readonly collectionsOf: (organizationId: string) => Promise<readonly string[]>;
  readonly storageUsageIn: (collectionId: string) => StorageUsage;
  /** Number of documents of an organization that are queued for parsing and indexing or in progress. */
  readonly ingestingDocuments: (organizationId: string) => number;
}

/** Storage growth of a write. */
export interface WriteSize extends StorageUsage {
  /** Raw bytes received, even if they replace others. */
  readonly received: number;
}

/** Reserved quota of one write. */
export interface QuotaReservation {
  /**
   * Ends the reservation; further calls have no effect. A completed write is already counted; otherwise its
   * rate charge is returned.
   */
  readonly end: (isWritten: boolean) => void;
}

/**
 * Writes in progress. The store counts their growth some time before they end; from then until their end it
 * is counted twice.
 */
interface PendingWrites {
  /** Documents entering the queue. */
  incoming: number;
  documents: number;
  bytes: number;
  /** Called when one of the writes ends. */
  onEnd: () => void;
}

const queryOperations: ReadonlySet<string> = new Set([
  'top-documents',
  'top-pages',
  'top-snippets',
  'answer',
]);
const addOperations: ReadonlySet<string> = new Set([
  'add-document',
  'add-documents',
  'put-document',
  'upload-document',
]);
/** Operations that are charged to the document bytes per minute. */
const receivingOperations: ReadonlySet<string> = new Set([...addOperations, 'parse-document']);
/** Operations that add to the ingest queue. */
const ingestOperations: ReadonlySet<string> = new Set([
  ...addOperations,
  'update-document',
  'clone-collection',
]);
/** Milliseconds after which a client should retry when the ingest queue is full. */
const ingestRetryMs = 2_000;

/**
 * Enforces request, query and document quotas of organizations. Without limits, the check costs one map
 * lookup. Rejected calls get 429, with the limit in the message and in `x-quarry-limit`.
 */
export class Quotas {
  readonly #options: QuotasOptions;
  readonly #pending = new Map<string, PendingWrites>();
  /** First come, first served, so that the first documents of a batch get the remaining capacity. */
  readonly #mutex = new KeyedMutex();

  constructor(options: QuotasOptions) {
    this.#options = options;
  }

  /**
   * Called before the body is read: counts the request and, if it is one, the query, and rejects documents
   * without capacity.
   */
  admit(principal: Principal | null, operation: string): void {
    if (principal?.kind !== 'organization') return;
    const { organizationId } = principal;
    const limits = this.#options.limitsOf(organizationId);
    const { requestsPerMinute, queriesPerMinute } = limits;
    if (requestsPerMinute !== null || (queriesPerMinute !== null && queryOperations.has(operation))) {
      const charges: LimitCharge[] = [];
      if (requestsPerMinute !== null)
        charges.push({ limit: 'requests', allowance: requestsPerMinute, cost: 1 });
      if (queriesPerMinute !== null && queryOperations.has(operation))
        charges.push({ limit: 'queries', allowance: queriesPerMinute, cost: 1 });
      const exceeded = this.#options.limiter.consume(organizationId, charges);
      if (exceeded !== null) throw rateLimitError(exceeded);
    }
    if (ingestOperations.has(operation) && limits.ingestDocumentsMax !== null)
      this.#checkIngestQuota(organizationId, limits.ingestDocumentsMax);
    if (receivingOperations.has(operation)) this.#checkByteRate(organizationId, limits);
  }

  /** Returns null without limits. Errors: `rate_limited`; then nothing is reserved. */
  reserve(organizationId: string, size: WriteSize): Promise<QuotaReservation> | null {
    const limits = this.#options.limitsOf(organizationId);
    const { documentBytesPerMinute, documentsMax, storageBytesMax, ingestDocumentsMax } = limits;
    const isStorageBound = documentsMax !== null || storageBytesMax !== null;
    if (!isStorageBound && documentBytesPerMinute === null && ingestDocumentsMax === null) return null;
    return isStorageBound
      ? this.#reserveStorage(organizationId, size, limits)
      : this.#reserveWrite(organizationId, size, limits);
  }

  /** Returns the total storage usage of an organization. */
  async storageUsage(organizationId: string): Promise<StorageUsage> {
    return this.#sum(await this.#options.collectionsOf(organizationId));
  }

  /** Charges queries of a request beyond its first, which `admit` has counted. Errors: `rate_limited`. */
  chargeQueries(organizationId: string, count: number): void {
    const { queriesPerMinute: allowance } = this.#options.limitsOf(organizationId);
    if (allowance === null) return;
    const charge: LimitCharge = { limit: 'queries', allowance, cost: count };
    const exceeded = this.#options.limiter.consume(organizationId, [charge]);
    if (exceeded !== null) throw rateLimitError(exceeded, 'request');
  }

  /** Charges a file that is parsed but not stored. Errors: `rate_limited`. */
  consumeDocumentBytes(organizationId: string, bytes: number): void {
    const { documentBytesPerMinute: allowance } = this.#options.limitsOf(organizationId);
    if (allowance === null) return;
    const charge: LimitCharge = { limit: 'document-bytes', allowance, cost: bytes };
    const exceeded = this.#options.limiter.consume(organizationId, [charge]);
    if (exceeded !== null) throw rateLimitError(exceeded);
  }

  #checkByteRate(organizationId: string, { documentBytesPerMinute }: OrganizationLimits): void {
    if (documentBytesPerMinute === null) return;
    const exceeded = this.#options.limiter.check(organizationId, [
      { limit: 'document-bytes', allowance: documentBytesPerMinute, cost: 1 },
    ]);
    if (exceeded !== null) throw rateLimitError(exceeded);
  }

  #reserveStorage(
    organizationId: string,
    size: WriteSize,
    limits: OrganizationLimits,
  ): Promise<QuotaReservation> {
    return this.#mutex.run(organizationId, async () => {
      await this.#waitForStorage(organizationId, size, limits);
      return this.#reserveWrite(organizationId, size, limits);
    });
  }

  /**
   * Resolves when there is capacity. Waits only if that depends on writes in progress: a few commits. Errors:
   * 429.
   */
  async #waitForStorage(organizationId: string, size: WriteSize, limits: OrganizationLimits): Promise<void> {
    for (;;) {
      const stored = this.#sum(await this.#options.collectionsOf(organizationId));
      const error = storageQuotaErrorFor(size, stored, limits);
      if (error !== null) throw error;
      const pending = this.#pending.get(organizationId);
      if (pending === undefined) return;
      const worstCase = {
        documents: stored.documents + pending.documents,
        bytes: stored.bytes + pending.bytes,
      };
      if (storageQuotaErrorFor(size, worstCase, limits) === null) return;
      await new Promise<void>((resolve) => {
        pending.onEnd = resolve;
      });
    }
  }

  async #reserveWrite(
    organizationId: string,
    size: WriteSize,
    limits: OrganizationLimits,
  ): Promise<QuotaReservation> {
    const { documentBytesPerMinute, ingestDocumentsMax } = limits;
    const pending = this.#pendingOf(organizationId);
    if (ingestDocumentsMax !== null) this.#checkIngestQuota(organizationId, ingestDocumentsMax);
    const release =
      documentBytesPerMinute === null
        ? () => {}
        : this.#reserveRate(organizationId, [
            { limit: 'document-bytes', allowance: documentBytesPerMinute, cost: size.received },
          ]);
    this.#updatePending(organizationId, pending, size, 1);
    let isOver = false;
    return {
      end: (isWritten) => {
        if (isOver) return;
        isOver = true;
        this.#updatePending(organizationId, pending, size, -1);
        if (!isWritten) release();
        pending.onEnd();
      },
    };
  }

  #reserveRate(organizationId: string, charges: readonly LimitCharge[]): () => void {
    const reservation = this.#options.limiter.reserve(organizationId, charges);
    if (typeof reservation === 'function') return reservation;
    throw rateLimitError(reservation);
  }

  #checkIngestQuota(organizationId: string, documentsMax: number): void {
    const incoming = this.#pending.get(organizationId)?.incoming ?? 0;
    if (this.#options.ingestingDocuments(organizationId) + incoming < documentsMax) return;
    throw new AppError(
      'rate_limited',
      `Your organization has reached its limit of ${formatCount(documentsMax, 'document')} in the ingest queue. Try again when some are indexed.`,
      { retryAfterMs: ingestRetryMs, headers: { 'x-quarry-limit': 'ingest-documents' } },
    );
  }

  #pendingOf(organizationId: string): PendingWrites {
    return this.#pending.get(organizationId) ?? { incoming: 0, documents: 0, bytes: 0, onEnd: () => {} };
  }

  #updatePending(
    organizationId: string,
    pending: PendingWrites,
    { documents, bytes }: WriteSize,
    sign: 1 | -1,
  ): void {
    pending.incoming += sign;
    pending.documents += sign * Math.max(0, documents);
    pending.bytes += sign * Math.max(0, bytes);
    if (pending.incoming > 0) this.#pending.set(organizationId, pending);
    else this.#pending.delete(organizationId);
  }

  #sum(collections: readonly string[]): StorageUsage {
    let [documents, bytes] = [0, 0];
    for (const collectionId of collections) {
      const stored = this.#options.storageUsageIn(collectionId);
      documents += stored.documents;
      bytes += stored.bytes;
    }
    return { documents, bytes };
  }
}

/** Returns the error of the exceeded storage quota; null when the write fits. */
function storageQuotaErrorFor(
  size: WriteSize,
  { documents, bytes }: StorageUsage,
  limits: OrganizationLimits,
): AppError | null {
  const { documentsMax, storageBytesMax } = limits;
  if (documentsMax !== null && size.documents > 0 && documents + size.documents > documentsMax)
    return storageQuotaError('documents', formatCount(documentsMax, 'document'), `it stores ${documents}`);
  if (storageBytesMax !== null && size.bytes > 0 && bytes + size.bytes > storageBytesMax) {
    const would = `it stores ${bytes}, and this document adds ${size.bytes}`;
    return storageQuotaError('storage-bytes', `${storageBytesMax} bytes of documents`, would);
  }
  return null;
}

function storageQuotaError(
  limit: 'documents' | 'storage-bytes',
  documentsMax: string,
  now: string,
): AppError {
  return new AppError(
    'rate_limited',
    `Your organization has reached its limit of ${documentsMax}: ${now}. Delete documents or request a higher limit; a retry does not help.`,
    { shouldRetry: false, headers: { 'x-quarry-limit': limit } },
  );
}

const limitDescriptions: Readonly<Partial<Record<LimitName, string>>> = {
  requests: 'requests per minute',
  queries: 'queries per minute',
  'document-bytes': 'bytes of documents per minute',
};

function rateLimitError(
  { limit, allowancePerMinute, waitMs }: ExceededLimit,
  noun: 'document' | 'request' = 'document',
): AppError {
  const allowed = `${allowancePerMinute} ${limitDescriptions[limit] ?? limit}`;
  const headers = { 'x-quarry-limit': limit };
  if (waitMs === Number.POSITIVE_INFINITY) {
    const detail = `This ${noun} exceeds the limit of your organization of ${allowed}.`;
    return new AppError('rate_limited', detail, { shouldRetry: false, headers });
  }
  return new AppError('rate_limited', `Your organization has exceeded its limit of ${allowed}.`, {
    retryAfterMs: waitMs,
    headers,
  });
}
