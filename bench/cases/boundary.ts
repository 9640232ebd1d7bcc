import type { BenchCase } from '../harness/bench-case.ts';
import { spreadColumns, spreadOf } from '../harness/statistics.ts';
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
  summary: 'CPU of a call into the native engine and back, on the calling thread and on an engine thread',
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
        `An index of one row with one word, so that the search itself costs almost nothing. CPU is that of the whole process per call, including packing the query and reading the reply.`,
        `Rounds: ${rounds}, ${seconds} s each, in a random order.`,
      ],
      tables: [
        targetTable(
          ways.flatMap(({ name, cpuUs, most }): PerformanceTarget[] =>
            most === null
              ? []
              : [
                  {
                    metric: `${name}: CPU [us]`,
                    reached: spreadOf(cpuUs)?.median ?? null,
                    most,
                    unmetConditions: listUnmetConditions([isMeasuredLongEnough(options, 1)]),
                  },
                ],
          ),
          2,
        ),
        {
          title: 'CPU per call',
          columns: [{ key: 'name', heading: 'call', unit: null, digits: 0 }, ...spreadColumns('us', 2)],
          rows: ways.map(({ name, cpuUs }) => ({ name, ...spreadOf(cpuUs) })),
        },
      ],
      charts: [],
      notes: [
        'The target for engine threads applies to many calls in flight. With one call in flight, each call also wakes a sleeping thread twice.',
        'A vector search also prepares the vector: it is rotated, quantized to bytes and compared. The measuring loop (a promise and a clock read per call) is included.',
      ],
      figures: ways.map(({ name, cpuUs }): Figure => ({ name, unit: 'us', better: 'less', values: cpuUs })),
      measured: ways,
    };
  },
};
