import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Random } from '../core/ids.ts';
import type { ParseLimits } from '../parsing/limits.ts';
import type { PackedParseOutcome, ParseTask } from '../parsing/process/parse-task.ts';
import { mapDiskFullError } from '../storage/durable-files.ts';
import { callParserForClient } from './parser-call.ts';
import type { Pool } from './pools.ts';

export interface FileReaderOptions {
  readonly pool: Pool;
  /** A file is in its subfolder `incoming` while it is being read. */
  readonly folder: string;
  readonly parseLimits: Partial<ParseLimits>;
  readonly random: Random;
}

/**
 * Parses bytes that are not a stored document, with the same parsers, and stores nothing. These calls queue
 * behind documents that arrived earlier, so that documents are never starved.
 */
export class FileReader {
  readonly #options: FileReaderOptions;

  constructor(options: FileReaderOptions) {
    this.#options = options;
  }

  /**
   * Returns the pages of the file, or the reason for having none. `msMax` bounds all attempts
   * together; aborting `signal` ends them with a failure.
   */
  async read(
    bytes: Uint8Array,
    { organizationId, msMax, signal }: { organizationId: string; msMax: number; signal: AbortSignal },
  ): Promise<PackedParseOutcome> {
    const { pool, folder, parseLimits, random } = this.#options;
    const file = join(folder, 'incoming', random.uuid());
    const task: ParseTask = {
      kind: 'parse',
      file,
      organizationId,
      limits: { ...parseLimits, totalMsMax: msMax },
    };
    try {
      await mapDiskFullError(writeFile(file, bytes, { mode: 0o600, flag: 'wx' }));
      return await callParserForClient<PackedParseOutcome>(pool, task, { priority: 'ingest', signal });
    } finally {
      await rm(file, { force: true });
    }
  }
}
