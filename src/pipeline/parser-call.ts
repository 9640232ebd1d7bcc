import { MessageChannel } from 'node:worker_threads';
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
