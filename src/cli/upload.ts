import { createHash } from 'node:crypto';
import { createReadStream, openAsBlob } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { basename } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import type { DocumentMetadataJson } from '../schemas/wire.ts';
import { type ApiClient, ApiResponseError, backOffMs } from './api-client.ts';
import type { LocalFile } from './walk.ts';

/** Milliseconds without a successful upload after which the client gives up on an unreachable or busy server. */
const giveUpAfterMs = { unreachable: 60_000, busy: 900_000 } as const;

/** Outcome of one upload. */
export type UploadOutcome =
  | { readonly kind: 'added' | 'overwritten' }
  | { readonly kind: 'refused'; readonly reason: string };

export interface UploadRequest {
  readonly file: LocalFile;
  /**
   * Metadata of the document, new or existing. Sent with every upload, because an overwrite replaces it as a
   * whole.
   */
  readonly metadata: DocumentMetadataJson;
  /** Wait until the document is indexed. */
  readonly wait?: boolean;
}

/** Uploads files into one collection. If the server asks one upload to wait, all parallel uploads wait. */
export class Uploader {
  readonly #api: ApiClient;
  readonly #clock: Clock;
  readonly #collection: string;
  #pausedUntil = 0;
  #lastSuccessAt: number;

  constructor(api: ApiClient, clock: Clock, collection: string) {
    this.#api = api;
    this.#clock = clock;
    this.#collection = collection;
    this.#lastSuccessAt = clock.monotonic();
  }

  /**
   * Uploads one file. Errors that concern every file (no server, wrong key, Ctrl-C) are thrown; errors of
   * this file are returned as its outcome.
   */
  async upload(request: UploadRequest): Promise<UploadOutcome> {
    try {
      await access(request.file.absolute, constants.R_OK);
    } catch (error) {
      return { kind: 'refused', reason: `the file cannot be read: ${(error as Error).message}` };
    }
    for (let attempt = 1; ; attempt++) {
      await this.#waitForPause();
      try {
        const response = await this.#send(request);
        await response.arrayBuffer();
        this.#lastSuccessAt = this.#clock.monotonic();
        return { kind: response.status === 201 ? 'added' : 'overwritten' };
      } catch (error) {
        const outcome = this.#classifyError(error, attempt);
        if (outcome !== null) return outcome;
      }
    }
  }

  /**
   * Returns the outcome of a failed attempt, or null if it is to be retried. Throws errors that concern every
   * file.
   */
  #classifyError(error: unknown, attempt: number): UploadOutcome | null {
    this.#api.signal.throwIfAborted();
    if (error instanceof ApiResponseError) {
      if (error.status === 401 || error.status === 403) throw error;
      const isServerBusy = error.mayRetry || error.status === 408;
      if (!isServerBusy || this.#hasTimedOut(giveUpAfterMs.busy)) {
        this.#lastSuccessAt = this.#clock.monotonic();
        return { kind: 'refused', reason: error.message };
      }
      this.#pause(backOffMs(error.retryAfterMs, attempt));
      return null;
    }
    if (isFileChangedError(error)) return { kind: 'refused', reason: 'the file changed during the upload' };
    if (!(error instanceof AppError) || this.#hasTimedOut(giveUpAfterMs.unreachable)) throw error;
    this.#pause(backOffMs(null, attempt));
    return null;
  }

  async #send(request: UploadRequest): Promise<Response> {
    const content = await openAsBlob(request.file.absolute);
    if (Object.keys(request.metadata).length > 0 || /^\.{1,2}$/.test(this.#collection))
      return this.#sendForm(request, content);
    const collection = encodeURIComponent(this.#collection);
    const path = encodeURIComponent(request.file.path);
    return this.#api.send(
      `/v1/documents/${collection}/${path}?overwrite=true${request.wait === true ? '&wait=true' : ''}`,
      {
        method: 'PUT',
        headers: { 'content-type': 'application/octet-stream' },
        body: content,
      },
    );
  }

  /**
   * Uploads by a form: metadata may exceed the size limit of a header, and "." and ".." have a special
   * meaning in URLs. The file must be the last field.
   */
  async #sendForm(request: UploadRequest, content: Blob): Promise<Response> {
    const form = new FormData();
    form.append('collection_name', this.#collection);
    form.append('path', request.file.path);
    form.append('metadata', JSON.stringify(request.metadata));
    form.append('overwrite', 'true');
    if (request.wait === true) form.append('wait', 'true');
    form.append('file', content, basename(request.file.path));
    return this.#api.send('/v1/documents/upload', { method: 'POST', body: form });
  }

  #pause(milliseconds: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.monotonic() + milliseconds);
  }

  async #waitForPause(): Promise<void> {
    for (;;) {
      const waitMs = this.#pausedUntil - this.#clock.monotonic();
      if (waitMs <= 0) return;
      await sleep(waitMs, undefined, { signal: this.#api.signal });
    }
  }

  #hasTimedOut(milliseconds: number): boolean {
    return this.#clock.monotonic() - this.#lastSuccessAt > milliseconds;
  }
}

/** Returns the SHA-256 of a file in hexadecimal, or null if it cannot be read. */
export async function hashFile(absolute: string): Promise<string | null> {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(absolute), hash);
  } catch {
    // The upload that follows fails in the same way and reports the reason.
    return null;
  }
  return hash.digest('hex');
}

/** Whether a Blob is unreadable because the size of its file changed after it was opened. */
function isFileChangedError(error: unknown): boolean {
  for (let cause = error; cause instanceof Error || cause instanceof DOMException; cause = cause.cause) {
    if (cause.name === 'NotReadableError') return true;
  }
  return false;
}
