import type { BenchCase } from '../harness/bench-case.ts';
import { spreadOf } from '../harness/statistics.ts';
import { runTask } from '../harness/task-process.ts';
import type { Figure } from '../report/findings.ts';
import {
  isMeasuredLongEnough,
  listUnmetConditions,
  type PerformanceTarget,
  targetTable,
} from '../report/performance-targets.ts';
import type { BoundaryInput, BoundaryOutput } from './boundary-task.ts';

/** Measures the cost of calling the engine, independent of the amount of search work. */
export const boundaryCase: BenchCase = {
  name: 'boundary',
  summary: 'CPU of a call into the native engine and back, on the calling thread and by an engine thread',
  presets: {
    smoke: '--seconds 0.02 --rounds 2',
    usual: '--seconds 1 --rounds 5',
    full: '--seconds 5 --rounds 9',
  },
  async run({ options, ...context }) {
    const { seed, seconds, rounds } = options;
    const input: BoundaryInput = { seed, seconds, rounds };
    const taskFile = new URL('./boundary-task.js', import.meta.url);
    const { ways } = await runTask<BoundaryOutput>(taskFile, input, context);
    return {
      title: 'A call into the engine and back',
      method: [
        `An index of one row with one word, so that hardly anything is searched. CPU of the whole process per call, packing the query and reading the answer included.`,
        `Rounds: ${rounds}, ${seconds} s each, in a random order.`,
      ],
      tables: [
        targetTable(
          ways.flatMap(({ name, cpuUs, most }): PerformanceTarget[] =>
            most === null
              ? []
              : [
                  {
                    ...{ what: `${name}: CPU [us]`, reached: spreadOf(cpuUs)?.median ?? null, most },
                    unmetConditions: listUnmetConditions([isMeasuredLongEnough(options, 1)]),
                  },
                ],
          ),
          2,
        ),
        {
          title: 'CPU per call',
          columns: [
            { key: 'name', heading: 'call', unit: null, digits: 0 },
            ...(['median', 'least', 'most'] as const).map((key) => ({
              ...{ key, heading: key, unit: 'us', digits: 2 },
            })),
          ],
          rows: ways.map(({ name, cpuUs }) => ({ name, ...spreadOf(cpuUs) })),
        },
      ],
      charts: [],
      notes: [
        'What is promised of the threads of the engine is promised of many calls in flight. With one, waking a sleeping thread twice is part of every call.',
        'A search by a vector also prepares it: it is turned, rounded to bytes and compared. The loop of the measuring program, a promise and a look at the clock per call, counts too.',
      ],
      figures: ways.map(({ name, cpuUs }): Figure => ({ name, unit: 'us', better: 'less', values: cpuUs })),
      measured: ways,
    };
  },
};
