import { MessageChannel } from 'node:worker_threads';
import { AppError } from '../core/app-error.ts';
import type { ParserTask } from '../parsing/process/parse-task.ts';
import type { ParseProgress } from '../parsing/tools/document-tools.ts';
import type { Pool, TaskPriority } from './pools.ts';

export interface ParserCallOptions {
  readonly priority?: TaskPriority;
  /** Aborting ends the parser process at once and returns a failure; the worker and the server keep running. */
  readonly signal?: AbortSignal;
  /** Called with progress reports. */
  readonly onProgress?: (progress: ParseProgress) => void;
}

/**
 * Same as `callParser`, for a call with a waiting client: a parser that cannot start, a worker that ends, or
 * a file that is deleted meanwhile results in a 503, because a retry may succeed.
 */
export async function callParserForClient<Outcome>(...call: Parameters<typeof callParser>): Promise<Outcome> {
  try {
    return await callParser<Outcome>(...call);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('unavailable', 'The file cannot be read at the moment. Try again shortly.', {
      retryAfterMs: 2_000,
      cause: error,
    });
  }
}

/** Runs a task of the parse pool that can be canceled without ending its worker. */
export async function callParser<Outcome>(
  pool: Pick<Pool, 'run'>,
  task: ParserTask,
  { priority, signal, onProgress }: ParserCallOptions = {},
): Promise<Outcome> {
  const { port1: localPort, port2: remotePort } = new MessageChannel();
  const cancel = () => localPort.postMessage('cancel');
  if (signal?.aborted) cancel();
  signal?.addEventListener('abort', cancel, { once: true });
  if (onProgress !== undefined) localPort.on('message', onProgress);
  try {
    return await pool.run<Outcome>(
      { ...task, port: remotePort },
      { ...(priority === undefined ? {} : { priority }), transferList: [remotePort] },
    );
  } finally {
    signal?.removeEventListener('abort', cancel);
    localPort.close();
  }
}
