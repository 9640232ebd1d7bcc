import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../base/app-error.ts';
import type { Chance } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import type { ParseLimits } from '../parsing/limits.ts';
import type { ParseOutcome, ParseTask } from '../parsing/parse-task.ts';
import { callParser } from '../pipeline/parser-call.ts';
import type { Pool } from '../pipeline/pools.ts';
import { decodeBase64 } from '../schemas/checks.ts';
import type { ParseDocumentRequest, ParseDocumentResponse } from '../schemas/parsers.ts';
import type { OrganisationPrincipal } from '../schemas/principal.ts';
import type { Call } from './call.ts';

export interface ParserServicesOptions {
  readonly pool: Pool;
  /** Folder that the parser processes may read; the file lies in its `incoming` for as long as it is parsed. */
  readonly folder: string;
  readonly parseLimits: Partial<ParseLimits>;
  readonly chance: Chance;
}

/** Reads a file and stores nothing. */
export class ParserServices {
  readonly #options: ParserServicesOptions;

  constructor(options: ParserServicesOptions) {
    this.#options = options;
  }

  async parseDocument(
    call: Call<OrganisationPrincipal>,
    request: ParseDocumentRequest,
  ): Promise<ParseDocumentResponse> {
    const { pool, folder, parseLimits, chance } = this.#options;
    const bytes = decodeBase64(request.base64_data);
    const file = join(folder, 'incoming', chance.uuid());
    const task: ParseTask = {
      kind: 'parse',
      file,
      folder,
      limits: { ...parseLimits, totalMsMax: limits.waitMsMax },
    };
    // The deadline also covers the wait for a free parser; it ends the parser when it passes.
    const deadline = AbortSignal.timeout(limits.waitMsMax);
    try {
      await writeFile(file, bytes, { mode: 0o600, flag: 'wx' });
      const signal = AbortSignal.any([call.signal, deadline]);
      const outcome = await callParser<ParseOutcome>(pool, task, { priority: 'fast', signal });
      if (!('failure' in outcome)) return { pages: outcome.pages };
      if (deadline.aborted || outcome.failure.code === 'timeout') throw tooSlow();
      throw new AppError('bad_request', outcome.failure.message);
    } finally {
      await rm(file, { force: true });
    }
  }
}

function tooSlow(): AppError {
  return new AppError(
    'parse_timeout',
    `The file could not be read within ${limits.waitMsMax / 1_000} seconds; add it as a document instead.`,
    { shouldRetry: false },
  );
}
