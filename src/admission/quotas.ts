import { AppError } from '../base/app-error.ts';
import { counted } from '../base/counted.ts';
import { KeyedMutex } from '../core/async/mutex.ts';
import type { Principal } from '../schemas/principal.ts';
import type { Due, LimitName, RateLimiter } from './rate-limiter.ts';
import type { OrganisationLimits } from './tiers.ts';

/** Documents and the raw bytes of their files and texts. */
export interface Stored {
  readonly documents: number;
  readonly bytes: number;
}

export interface QuotasOptions {
  readonly limitsOf: (organizationId: string) => OrganisationLimits;
  readonly limiter: RateLimiter;
  /** The collections of an organisation, and what one holds; the latter counts whatever was acknowledged. */
  readonly collectionsOf: (organizationId: string) => Promise<readonly string[]>;
  readonly storedIn: (collectionId: string) => Stored;
  /** Documents of an organisation that wait for parsing and indexing or are worked on. */
  readonly ingesting: (organizationId: string) => number;
}

/** What a write would add. */
export interface Growth extends Stored {
  /** Raw bytes that come in, also where they take the place of others. */
  readonly received: number;
}

/** What a write took of the limits of its organisation. */
export interface Taken {
  /** Ends it, once: what was written is counted by now; what was not is given back. */
  readonly end: (isWritten: boolean) => void;
}

/** Of writes on their way. What they add is counted at some moment before they end, and then twice. */
interface Held {
  /** Documents that come into the queue. */
  incoming: number;
  documents: number;
  bytes: number;
  /** Called when one of them ends. */
  onEnd: () => void;
}

const queries: ReadonlySet<string> = new Set(['top-documents', 'top-pages', 'top-snippets']);
const adding: ReadonlySet<string> = new Set([
  'add-document',
  'add-documents',
  'put-document',
  'upload-document',
]);
/** What is held against the bytes of documents that come in by the minute. */
const receiving: ReadonlySet<string> = new Set([...adding, 'parse-document']);
/** What comes into the queue. */
const queueing: ReadonlySet<string> = new Set([...adding, 'update-document']);
/** When it is worth to ask whether the queue is shorter. */
const ingestRetryMs = 2_000;

/**
 * What the limits of an organisation leave of requests, queries and documents. An organisation without limits costs a
 * look into a map. Refusals are 429 and name the limit, in words and in `x-quarry-limit`.
 */
export class Quotas {
  readonly #options: QuotasOptions;
  readonly #held = new Map<string, Held>();
  /** Whoever asks first is answered first, so that of a batch the first documents find the room that is left. */
  readonly #asking = new KeyedMutex();

  constructor(options: QuotasOptions) {
    this.#options = options;
  }

  /** Before the body: counts the request, and the query if it is one. Whoever has no room for documents sends none. */
  admit(principal: Principal | null, operation: string): void {
    if (principal?.kind !== 'organisation') return;
    const { organizationId } = principal;
    const limits = this.#options.limitsOf(organizationId);
    const { requestsPerMinute, queriesPerMinute } = limits;
    if (requestsPerMinute !== null || (queriesPerMinute !== null && queries.has(operation))) {
      const dues: Due[] = [];
      if (requestsPerMinute !== null) dues.push({ limit: 'requests', allowance: requestsPerMinute, cost: 1 });
      if (queriesPerMinute !== null && queries.has(operation))
        dues.push({ limit: 'queries', allowance: queriesPerMinute, cost: 1 });
      const refusal = this.#options.limiter.spend(organizationId, dues);
      if (refusal !== null) throw overRate(refusal);
    }
    if (queueing.has(operation) && limits.ingestDocumentsMax !== null)
      this.#refuseIngesting(organizationId, limits.ingestDocumentsMax);
    if (receiving.has(operation)) this.#admitBytes(organizationId, limits);
  }

  /** Null where nothing is limited. Errors: `rate_limited`, and nothing is taken. */
  take(organizationId: string, growth: Growth): Promise<Taken> | null {
    const limits = this.#options.limitsOf(organizationId);
    const { documentBytesPerMinute, documentsMax, storageBytesMax, ingestDocumentsMax } = limits;
    const isStorageBound = documentsMax !== null || storageBytesMax !== null;
    if (!isStorageBound && documentBytesPerMinute === null && ingestDocumentsMax === null) return null;
    return isStorageBound
      ? this.#takeRoom(organizationId, growth, limits)
      : this.#takeGrowth(organizationId, growth, limits);
  }

  /** Everything that an organisation stores. */
  async stored(organizationId: string): Promise<Stored> {
    return this.#sum(await this.#options.collectionsOf(organizationId));
  }

  /** For a file that is read and not stored. Errors: `rate_limited`. */
  spendDocumentBytes(organizationId: string, bytes: number): void {
    const { documentBytesPerMinute: allowance } = this.#options.limitsOf(organizationId);
    if (allowance === null) return;
    const due: Due = { limit: 'document-bytes', allowance, cost: bytes };
    const refusal = this.#options.limiter.spend(organizationId, [due]);
    if (refusal !== null) throw overRate(refusal);
  }

  #admitBytes(organizationId: string, { documentBytesPerMinute }: OrganisationLimits): void {
    if (documentBytesPerMinute === null) return;
    const refusal = this.#options.limiter.look(organizationId, [
      { limit: 'document-bytes', allowance: documentBytesPerMinute, cost: 1 },
    ]);
    if (refusal !== null) throw overRate(refusal);
  }

  #takeRoom(organizationId: string, growth: Growth, limits: OrganisationLimits): Promise<Taken> {
    return this.#asking.run(organizationId, async () => {
      await this.#fits(organizationId, growth, limits);
      return this.#takeGrowth(organizationId, growth, limits);
    });
  }

  /** Resolves when there is room. Waits while that depends on writes on their way: a few commits. Errors: 429. */
  async #fits(organizationId: string, growth: Growth, limits: OrganisationLimits): Promise<void> {
    for (;;) {
      const stored = this.#sum(await this.#options.collectionsOf(organizationId));
      const refusal = refusalOf(growth, stored, limits);
      if (refusal !== null) throw refusal;
      const held = this.#held.get(organizationId);
      if (held === undefined) return;
      const most = { documents: stored.documents + held.documents, bytes: stored.bytes + held.bytes };
      if (refusalOf(growth, most, limits) === null) return;
      await new Promise<void>((resolve) => {
        held.onEnd = resolve;
      });
    }
  }

  async #takeGrowth(organizationId: string, growth: Growth, limits: OrganisationLimits): Promise<Taken> {
    const { documentBytesPerMinute, ingestDocumentsMax } = limits;
    const held = this.#heldOf(organizationId);
    if (ingestDocumentsMax !== null) this.#refuseIngesting(organizationId, ingestDocumentsMax);
    const giveBack =
      documentBytesPerMinute === null
        ? () => {}
        : this.#take(organizationId, [
            { limit: 'document-bytes', allowance: documentBytesPerMinute, cost: growth.received },
          ]);
    this.#hold(organizationId, held, growth, 1);
    let isOver = false;
    return {
      end: (isWritten) => {
        if (isOver) return;
        isOver = true;
        this.#hold(organizationId, held, growth, -1);
        if (!isWritten) giveBack();
        held.onEnd();
      },
    };
  }

  #take(organizationId: string, dues: readonly Due[]): () => void {
    const taken = this.#options.limiter.take(organizationId, dues);
    if (typeof taken === 'function') return taken;
    throw overRate(taken);
  }

  #refuseIngesting(organizationId: string, most: number): void {
    const incoming = this.#held.get(organizationId)?.incoming ?? 0;
    if (this.#options.ingesting(organizationId) + incoming < most) return;
    throw new AppError(
      'rate_limited',
      `Your organisation has ${counted(most, 'document')} waiting for parsing and indexing, which is its limit: continue when some are done.`,
      { retryAfterMs: ingestRetryMs, headers: { 'x-quarry-limit': 'ingest-documents' } },
    );
  }

  #heldOf(organizationId: string): Held {
    return this.#held.get(organizationId) ?? { incoming: 0, documents: 0, bytes: 0, onEnd: () => {} };
  }

  #hold(organizationId: string, held: Held, { documents, bytes }: Growth, sign: 1 | -1): void {
    held.incoming += sign;
    held.documents += sign * Math.max(0, documents);
    held.bytes += sign * Math.max(0, bytes);
    if (held.incoming > 0) this.#held.set(organizationId, held);
    else this.#held.delete(organizationId);
  }

  #sum(collections: readonly string[]): Stored {
    let [documents, bytes] = [0, 0];
    for (const collectionId of collections) {
      const stored = this.#options.storedIn(collectionId);
      documents += stored.documents;
      bytes += stored.bytes;
    }
    return { documents, bytes };
  }
}

/** Why what is stored leaves no room; null where it does. */
function refusalOf(
  growth: Growth,
  { documents, bytes }: Stored,
  limits: OrganisationLimits,
): AppError | null {
  const { documentsMax, storageBytesMax } = limits;
  if (documentsMax !== null && growth.documents > 0 && documents + growth.documents > documentsMax)
    return full('documents', counted(documentsMax, 'document'), `it has ${documents}`);
  if (storageBytesMax !== null && growth.bytes > 0 && bytes + growth.bytes > storageBytesMax) {
    const would = `it has ${bytes}, and this document needs ${growth.bytes} more`;
    return full('storage-bytes', `${storageBytesMax} bytes of documents`, would);
  }
  return null;
}

function full(limit: 'documents' | 'storage-bytes', most: string, now: string): AppError {
  return new AppError(
    'rate_limited',
    `Your organisation may store ${most}; ${now}. Waiting does not help: delete documents, or ask for a higher limit.`,
    { shouldRetry: false, headers: { 'x-quarry-limit': limit } },
  );
}

const words: Readonly<Partial<Record<LimitName, string>>> = {
  requests: 'requests per minute',
  queries: 'queries per minute',
  'document-bytes': 'bytes of documents per minute',
};

function overRate({
  limit,
  allowancePerMinute,
  waitMs,
}: {
  readonly limit: LimitName;
  readonly allowancePerMinute: number;
  readonly waitMs: number;
}): AppError {
  const allowed = `${allowancePerMinute} ${words[limit] ?? limit}`;
  const headers = { 'x-quarry-limit': limit };
  if (waitMs === Number.POSITIVE_INFINITY) {
    const detail = `This document is larger than a whole minute's limit of ${allowed} of your organisation.`;
    return new AppError('rate_limited', detail, { shouldRetry: false, headers });
  }
  return new AppError('rate_limited', `Your organisation is over its limit of ${allowed}.`, {
    retryAfterMs: waitMs,
    headers,
  });
}
