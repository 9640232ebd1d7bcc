import type { Task, TaskCall, TaskProgress, TaskReply } from './task-process.ts';

/** Child process of one task. Exits after the task, or with the bench. */
process.once('message', ({ file, input }: TaskCall) => {
  run(file, input).then(
    (output) => process.send?.({ output } satisfies TaskReply),
    (error: Error) => process.send?.({ failure: error.stack ?? error.message } satisfies TaskReply),
  );
});
process.once('disconnect', () => process.exit(0));

/** Interval of progress messages: sufficient for a progress bar, without affecting the measurement. */
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
