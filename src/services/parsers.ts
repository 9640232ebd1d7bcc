import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import type { YieldToEventLoop } from '../base/event-loop-scheduler.ts';
import { limits } from '../base/limits.ts';
import { countOfTexts, eachText, type Texts, textOf } from '../base/packed-texts.ts';
import type { FairSemaphore } from '../core/async/fair-semaphore.ts';
import type { FileReader } from '../pipeline/file-reader.ts';
import { decodeFile } from '../requests/base64.ts';
import type { ParseDocumentRequest, ParseDocumentResponse } from '../schemas/parsers.ts';
import type { OrganisationPrincipal } from '../schemas/principal.ts';
import { type Call, msLeft } from './call.ts';

/** What reading one file took. */
export interface FileParse {
  readonly organizationId: string;
  readonly fileBytes: number;
  readonly pages: number;
  readonly timeTakenMs: number;
}

export interface ParserServicesOptions {
  readonly reader: Pick<FileReader, 'read'>;
  /** Leaves parsers to the documents that are to be stored. */
  readonly semaphore: Pick<FairSemaphore, 'acquire' | 'release'>;
  /** Counts the bytes of a file. Errors: `rate_limited`. */
  readonly spendBytes: (organizationId: string, bytes: number) => void;
  /** Counts a file that a parser had, also one that could not be read. */
  readonly recordParse: (parse: FileParse) => void;
  readonly fileBytesMax: number;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Milliseconds after the request in which the caller gets an answer, whatever the parsers do; `waitMsMax` by default. */
  readonly msMax?: number;
}

/** Reads a file and stores nothing. */
export class ParserServices {
  readonly #options: ParserServicesOptions;

  constructor(options: ParserServicesOptions) {
    this.#options = options;
  }

  async parseDocument(
    call: Call<OrganisationPrincipal>,
    request: Omit<ParseDocumentRequest, 'base64_data'> & { readonly base64_data: string | Uint8Array },
  ): Promise<ParseDocumentResponse> {
    const { fileBytesMax, clock, spendBytes, msMax = limits.waitMsMax } = this.#options;
    const bytes = decodeFile(request.base64_data, fileBytesMax);
    spendBytes(call.principal.organizationId, bytes.byteLength);
    const left = msLeft({ msMax, since: call.receivedAt }, clock);
    const deadline = AbortSignal.timeout(left);
    const passed = new Promise<never>((_, reject) => {
      deadline.addEventListener('abort', () => reject(tooSlow(msMax)), { once: true });
    });
    const signal = AbortSignal.any([call.caller.signal, deadline]);
    // The deadline ends a parser that runs; while all of them are busy with others, only the wait for one.
    const outcome = await Promise.race([this.#inTurn(call, bytes, { msMax: left, signal }), passed]);
    if (!('failure' in outcome))
      return { pages: await unpacked(outcome.pages, call.yieldToEventLoop), warnings: [...outcome.warnings] };
    if (outcome.failure.code === 'timeout') throw tooSlow(msMax);
    throw new AppError('bad_request', outcome.failure.message);
  }

  async #inTurn(
    { principal, caller }: Call<OrganisationPrincipal>,
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
      if (!('failure' in outcome)) pages = countOfTexts(outcome.pages);
      return outcome;
    } finally {
      semaphore.release();
      const fileBytes = bytes.byteLength;
      recordParse({ organizationId, fileBytes, pages, timeTakenMs: clock.monotonic() - since });
    }
  }
}

async function unpacked(texts: Texts, yieldToEventLoop: YieldToEventLoop): Promise<string[]> {
  const pages: string[] = [];
  for (const text of eachText(texts)) {
    const turn = yieldToEventLoop();
    if (turn !== null) await turn;
    pages.push(textOf(text));
  }
  return pages;
}

function tooSlow(msMax: number): AppError {
  return new AppError(
    'parse_timeout',
    `The file could not be read within ${msMax / 1_000} seconds; add it as a document instead.`,
    { shouldRetry: false },
  );
}
