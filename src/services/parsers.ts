import { AppError } from '../core/app-error.ts';
import type { FairSemaphore } from '../core/async/fair-semaphore.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import { countTexts, eachText, type Texts } from '../core/packed-texts.ts';
import type { FileReader } from '../ingest/file-reader.ts';
import { decodeFile } from '../requests/base64.ts';
import type { ParseDocumentRequest, ParseDocumentResponse } from '../schemas/parsers.ts';
import type { OrganizationPrincipal } from '../schemas/principal.ts';
import { decodeTextParts, type TextParts } from '../storage/text-parts.ts';
import { remainingMs, type ServiceCall } from './call.ts';

/** Usage of parsing one file. */
export interface FileParse {
  readonly organizationId: string;
  readonly fileBytes: number;
  readonly pages: number;
  readonly timeTakenMs: number;
}

export interface ParserServicesOptions {
  readonly reader: Pick<FileReader, 'read'>;
  /** Limits concurrent calls, so that parsers remain for documents that are to be stored. */
  readonly semaphore: Pick<FairSemaphore, 'acquire' | 'release'>;
  /** Counts the bytes of a file. Errors: `rate_limited`. */
  readonly spendBytes: (organizationId: string, bytes: number) => void;
  /** Counts every file given to a parser, including unreadable ones. */
  readonly recordParse: (parse: FileParse) => void;
  readonly fileBytesMax: number;
  readonly clock: Pick<Clock, 'monotonic'>;
  /**
   * Milliseconds after the request by which the caller gets a reply, regardless of the parsers; `waitMsMax`
   * by default.
   */
  readonly msMax?: number;
}

/** Result of a parsed file, whose pages are decoded as they are read. */
export type ParseDocumentReply = Omit<ParseDocumentResponse, 'pages'> & {
  readonly pages: Iterable<TextParts>;
};

/** Parses a file without storing anything. */
export class ParserServices {
  readonly #options: ParserServicesOptions;

  constructor(options: ParserServicesOptions) {
    this.#options = options;
  }

  async parseDocument(
    call: ServiceCall<OrganizationPrincipal>,
    request: Omit<ParseDocumentRequest, 'base64_data'> & { readonly base64_data: string | Uint8Array },
  ): Promise<ParseDocumentReply> {
    const { fileBytesMax, clock, spendBytes, msMax = limits.waitMsMax } = this.#options;
    const bytes = decodeFile(request.base64_data, fileBytesMax);
    spendBytes(call.principal.organizationId, bytes.byteLength);
    const remaining = remainingMs({ msMax, since: call.receivedAt }, clock);
    const deadline = AbortSignal.timeout(remaining);
    const deadlinePassed = new Promise<never>((_, reject) => {
      deadline.addEventListener('abort', () => reject(parseTimeoutError(msMax)), { once: true });
    });
    const signal = AbortSignal.any([call.cancellation.signal, deadline]);
    // The deadline stops a running parser; while all parsers are busy, it ends only the wait for one.
    const outcome = await Promise.race([
      this.#readWithPermit(call, bytes, { msMax: remaining, signal }),
      deadlinePassed,
    ]);
    if (!('failure' in outcome)) return { pages: pageParts(outcome.pages), warnings: [...outcome.warnings] };
    if (outcome.failure.code === 'timeout') throw parseTimeoutError(msMax);
    throw new AppError('bad_request', outcome.failure.message);
  }

  async #readWithPermit(
    { principal, cancellation: caller }: ServiceCall<OrganizationPrincipal>,
    bytes: Uint8Array,
    bounds: Omit<Parameters<FileReader['read']>[1], 'organizationId'>,
  ): ReturnType<FileReader['read']> {
    const { reader, semaphore, clock, recordParse } = this.#options;
    const { organizationId } = principal;
    await semaphore.acquire(organizationId, caller);
    const since = clock.monotonic();
    let pages = 0;
    try {
      bounds.signal.throwIfAborted();
      const outcome = await reader.read(bytes, { organizationId, ...bounds });
      if (!('failure' in outcome)) pages = countTexts(outcome.pages);
      return outcome;
    } finally {
      semaphore.release();
      const fileBytes = bytes.byteLength;
      recordParse({ organizationId, fileBytes, pages, timeTakenMs: clock.monotonic() - since });
    }
  }
}

function* pageParts(pages: Texts): Generator<TextParts, void, undefined> {
  for (const page of eachText(pages)) yield typeof page === 'string' ? [page] : decodeTextParts(page);
}

function parseTimeoutError(msMax: number): AppError {
  return new AppError(
    'parse_timeout',
    `The file could not be parsed within ${msMax / 1_000} seconds. Add it as a document instead.`,
    { shouldRetry: false },
  );
}
