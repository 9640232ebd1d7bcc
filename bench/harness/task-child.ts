import type { Task, TaskCall, TaskReply } from './task-process.ts';

/** The process of one task. It ends when it is done, or when the bench is. */
process.once('message', ({ file, input }: TaskCall) => {
  run(file, input).then(
    (output) => process.send?.({ output } satisfies TaskReply),
    (error: Error) => process.send?.({ failure: error.stack ?? error.message } satisfies TaskReply),
  );
});
process.once('disconnect', () => process.exit(0));

async function run(file: string, input: unknown): Promise<unknown> {
  const { default: task } = (await import(file)) as { default: Task<unknown, unknown> };
  return task(input);
}
