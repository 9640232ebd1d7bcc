import { AppError } from '../base/app-error.ts';
import { limits } from '../base/limits.ts';
import type { FileReader } from '../pipeline/file-reader.ts';
import { decodeBase64 } from '../schemas/checks.ts';
import type { ParseDocumentRequest, ParseDocumentResponse } from '../schemas/parsers.ts';
import type { OrganisationPrincipal } from '../schemas/principal.ts';
import type { Call } from './call.ts';

/** Reads a file and stores nothing. */
export class ParserServices {
  readonly #reader: FileReader;

  constructor(reader: FileReader) {
    this.#reader = reader;
  }

  async parseDocument(
    call: Call<OrganisationPrincipal>,
    request: ParseDocumentRequest,
  ): Promise<ParseDocumentResponse> {
    const bytes = decodeBase64(request.base64_data);
    // The deadline also covers the wait for a free parser; it ends the parser when it passes.
    const deadline = AbortSignal.timeout(limits.waitMsMax);
    const signal = AbortSignal.any([call.signal, deadline]);
    const outcome = await this.#reader.read(bytes, { msMax: limits.waitMsMax, signal });
    if (!('failure' in outcome)) return { pages: outcome.pages };
    if (deadline.aborted || outcome.failure.code === 'timeout') throw tooSlow();
    throw new AppError('bad_request', outcome.failure.message);
  }
}

function tooSlow(): AppError {
  return new AppError(
    'parse_timeout',
    `The file could not be read within ${limits.waitMsMax / 1_000} seconds; add it as a document instead.`,
    { shouldRetry: false },
  );
}
