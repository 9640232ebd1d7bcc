import { setTimeout as sleep } from 'node:timers/promises';
import type { AddDocumentsResponse, BatchDocumentResult } from '../../schemas/documents.ts';
import type { ApiClient } from '../api-client.ts';

/** A document in the format of `add-documents`. */
export interface SentDocument {
  /** Where the document comes from, for messages: "line 4". */
  readonly origin: string;
  readonly document: Readonly<Record<string, unknown>>;
  /** Approximate characters of its JSON. */
  readonly units: number;
  /** Whether it is known that it cannot be parsed or indexed. */
  readonly mayFail?: boolean;
}

export interface DocumentRejection {
  readonly origin: string;
  readonly path: string | null;
  readonly reason: string;
}

export interface DocumentSenderOptions {
  readonly api: ApiClient;
  readonly collection: string;
  /** Wait until the documents of a request are indexed before the next request. */
  readonly wait: boolean;
}

/** Limits of one request. */
const batchDocumentsMax = 64;
const batchUnitsMax = 4_000_000;
/** Attempts to add a document while the server is busy, and milliseconds between them. */
const attemptsMax = 120;
const retryMs = 1_000;

/** Adds documents in requests of bounded size. */
export class DocumentSender {
  readonly #options: DocumentSenderOptions;
  #batch: SentDocument[] = [];
  #units = 0;
  added = 0;
  readonly rejected: DocumentRejection[] = [];

  constructor(options: DocumentSenderOptions) {
    this.#options = options;
  }

  async add(sent: SentDocument): Promise<void> {
    const isFull = this.#batch.length >= batchDocumentsMax || this.#units + sent.units > batchUnitsMax;
    if (this.#batch.length > 0 && isFull) await this.flush();
    this.#batch.push(sent);
    this.#units += sent.units;
  }

  /** Sends the remaining documents. */
  async flush(): Promise<void> {
    let waiting = this.#batch;
    this.#batch = [];
    this.#units = 0;
    for (let attempt = 1; waiting.length > 0; attempt += 1) {
      const results = await this.#send(waiting);
      const busy: SentDocument[] = [];
      for (const [i, result] of results.entries()) {
        if (isBusy(result) && attempt < attemptsMax) busy.push(waiting[i]!);
        else this.#count(waiting[i]!, result);
      }
      waiting = busy;
      if (waiting.length > 0) await sleep(retryMs, undefined, { signal: this.#options.api.signal });
    }
  }

  async #send(documents: readonly SentDocument[]): Promise<readonly BatchDocumentResult[]> {
    const { api, collection, wait } = this.#options;
    const { results } = await api.call<AddDocumentsResponse>('documents/add-documents', {
      collection_name: collection,
      documents: documents.map(({ document }) => document),
      wait,
    });
    return results;
  }

  #count(
    { origin, mayFail = false }: SentDocument,
    { path, status, detail, index_status: indexStatus }: BatchDocumentResult,
  ): void {
    const failed = indexStatus === 'indexing_failed' || indexStatus === 'parsing_failed';
    if (status < 300 && (!failed || mayFail)) {
      this.added += 1;
      return;
    }
    const reason = detail ?? `it is ${indexStatus}; run \`quarry documents get\` for the reason`;
    this.rejected.push({ origin, path, reason });
  }
}

function isBusy({ status }: BatchDocumentResult): boolean {
  return status === 429 || status === 503;
}
