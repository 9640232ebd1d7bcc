import type { Task, TaskCall, TaskProgress, TaskReply } from './task-process.ts';

/** The process of one task. It ends when it is done, or when the bench is. */
process.once('message', ({ file, input }: TaskCall) => {
  run(file, input).then(
    (output) => process.send?.({ output } satisfies TaskReply),
    (error: Error) => process.send?.({ failure: error.stack ?? error.message } satisfies TaskReply),
  );
});
process.once('disconnect', () => process.exit(0));

/** So often is enough for a bar, and takes nothing of what is measured. */
const progressIntervalMs = 100;
let sentMs = Number.NEGATIVE_INFINITY;
let sentPhase = '';

const progress: TaskProgress = {
  update(...step) {
    const now = performance.now();
    if (step[0] === sentPhase && now - sentMs < progressIntervalMs) return;
    [sentPhase, sentMs] = [step[0], now];
    process.send?.({ progress: step } satisfies TaskReply);
  },
};

async function run(file: string, input: unknown): Promise<unknown> {
  const { default: task } = (await import(file)) as { default: Task<unknown, unknown> };
  return task(input, progress);
}
