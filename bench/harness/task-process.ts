import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { BenchContext } from './bench-case.ts';
import type { BenchProgress } from './progress.ts';

export type TaskProgress = Pick<BenchProgress, 'update'>;

/** Default export of a task file: a function on serializable data. */
export type Task<Input, Output> = (input: Input, progress: TaskProgress) => Promise<Output>;

export interface TaskCall {
  readonly file: string;
  readonly input: unknown;
}
export type TaskReply =
  | { readonly progress: Parameters<BenchProgress['update']> }
  | { readonly output: unknown }
  | { readonly failure: string };

/**
 * Runs a task file in its own process, so that memory, CPU time and threads are measured separately. Shows
 * its progress. Errors: rejects with the error of the task.
 */
export async function runTask<Output>(
  file: URL,
  input: unknown,
  { progress, signal }: Pick<BenchContext, 'progress' | 'signal'>,
): Promise<Output> {
  const child = fork(fileURLToPath(new URL('./task-child.js', import.meta.url)), {
    serialization: 'advanced',
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    signal,
  });
  try {
    return await new Promise<Output>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code, by) =>
        reject(new Error(`The process of ${file.href} ended (${by ?? code}).`)),
      );
      child.on('message', (reply: TaskReply) => {
        if ('progress' in reply) progress.update(...reply.progress);
        else if ('failure' in reply) reject(new Error(reply.failure));
        else resolve(reply.output as Output);
      });
      child.send({ file: file.href, input } satisfies TaskCall);
    });
  } finally {
    if (child.connected) child.disconnect();
  }
}
