import { MessageChannel } from 'node:worker_threads';
import { AppError } from '../base/app-error.ts';
import type { ParseProgress } from '../parsing/document-tools.ts';
import type { ParserTask } from '../parsing/parse-task.ts';
import type { Pool, TaskPriority } from './pools.ts';

export interface ParserCallOptions {
  readonly priority?: TaskPriority;
  /** Aborting ends the parser process at once and answers with a failure; the worker and the server go on. */
  readonly signal?: AbortSignal;
  /** Hears what is being done. */
  readonly onProgress?: (progress: ParseProgress) => void;
}

/**
 * The same for somebody who waits for the answer: a parser that cannot start, a worker that ends, or a file that is
 * deleted meanwhile is a 503, because the same call may succeed later.
 */
export async function askParser<Outcome>(...call: Parameters<typeof callParser>): Promise<Outcome> {
  try {
    return await callParser<Outcome>(...call);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('unavailable', 'The file cannot be read just now; try again in a moment.', {
      retryAfterMs: 2_000,
      cause: error,
    });
  }
}

/** Runs a task of the parse pool so that it can be cancelled without ending the worker that runs it. */
export async function callParser<Outcome>(
  pool: Pick<Pool, 'run'>,
  task: ParserTask,
  { priority, signal, onProgress }: ParserCallOptions = {},
): Promise<Outcome> {
  const { port1: here, port2: there } = new MessageChannel();
  const cancel = () => here.postMessage('cancel');
  if (signal?.aborted) cancel();
  signal?.addEventListener('abort', cancel, { once: true });
  if (onProgress !== undefined) here.on('message', onProgress);
  try {
    return await pool.run<Outcome>(
      { ...task, line: there },
      { ...(priority === undefined ? {} : { priority }), transferList: [there] },
    );
  } finally {
    signal?.removeEventListener('abort', cancel);
    here.close();
  }
}
