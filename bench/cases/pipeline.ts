import type { BenchCase } from '../harness/bench-case.ts';
import type { BenchOptions } from '../harness/options.ts';
import { spreadOf } from '../harness/statistics.ts';
import { runTask } from '../harness/task-process.ts';
import type { BenchFindings, Figure, ReportTable } from '../report/findings.ts';
import {
  isMeasuredLongEnough,
  listUnmetConditions,
  type PerformanceTarget,
  targetTable,
} from '../report/performance-targets.ts';
import type { PipelineInput, PipelineOutput } from './pipeline-task.ts';

/** Measures the text throughput of each pool of the pipeline when it runs alone on the machine. */
export const pipelineCase: BenchCase = {
  name: 'pipeline',
  summary:
    'each worker pool alone: parse, chunk, embed, rerank; single queries; generated text or a judged set',
  presets: {
    smoke: '--seconds 0.02 --rounds 1',
    usual: '--seconds 1 --rounds 3',
    full: '--seconds 5 --rounds 5',
  },
  async run({ options, ...context }) {
    const { seed, seconds, rounds, judged } = options;
    const input: PipelineInput = { seed, seconds, rounds, judged };
    const task = new URL('./pipeline-task.js', import.meta.url);
    return findingsOf(await runTask<PipelineOutput>(task, input, context), options);
  },
};

function findingsOf({ steps, answers }: PipelineOutput, options: BenchOptions): BenchFindings {
  const { rounds, seconds, judged } = options;
  return {
    title: 'Each pool of the pipeline alone',
    method: [
      `${judged === null ? 'Generated text' : `Text of ${judged}`}; a document of about 8,000 words is parsed (as plain text and as HTML) and chunked, 32 pieces of 2,000 characters are embedded, 100 reranked, over and over, with one task more under way than the pool has threads.`,
      `Rounds: ${rounds}, each step ${seconds} s per round, in a random order. What is counted is text, whatever it was wrapped in.`,
      'Then what somebody waits for: one answer after the other on one thread, another question each time.',
    ],
    tables: [
      targetTable(performanceTargets(steps, options), 0),
      throughputTable(steps),
      latencyTable(answers),
    ],
    charts: [
      {
        kind: 'bars',
        title: 'On one thread',
        yLabel: 'MB of text per second',
        bars: steps
          .filter(({ threads }) => threads === 1)
          .map(({ name, mbPerSecond }) => ({ name, value: spreadOf(mbPerSecond)?.median ?? null })),
      },
    ],
    notes: [
      'Sending a task to a worker and its answer back is part of every figure, as it is in the server. Index and store take part in none: "ingest" measures the whole.',
      'Per second of CPU: what all threads of the process used. It hardly changes when others work on the machine.',
    ],
    figures: [
      ...steps.map(({ name, threads, mbPerSecond }): Figure => {
        const label = `${name}, ${threads} ${threads === 1 ? 'thread' : 'threads'}`;
        return { name: label, unit: 'MB/s', better: 'more', values: mbPerSecond };
      }),
      ...answers.map(
        ({ name, p50 }): Figure => ({ name: `${name}: p50`, unit: 'µs', better: 'less', values: p50 }),
      ),
    ],
    measured: { steps, answers },
  };
}

function performanceTargets(steps: PipelineOutput['steps'], options: BenchOptions): PerformanceTarget[] {
  return steps.flatMap(({ name, mbPerCpuSecond, mbPerCpuSecondLeast: least }) =>
    least === null
      ? []
      : [
          {
            what: `${name}: MB of text per second of CPU`,
            reached: spreadOf(mbPerCpuSecond)?.median ?? null,
            least,
            unmetConditions: listUnmetConditions([isMeasuredLongEnough(options, 1)]),
          },
        ],
  );
}

function throughputTable(steps: PipelineOutput['steps']): ReportTable {
  return {
    title: 'Throughput',
    columns: [
      { key: 'name', heading: 'step', unit: null, digits: 0 },
      { key: 'threads', heading: 'threads', unit: null, digits: 0 },
      { key: 'median', heading: 'median', unit: 'MB/s', digits: 2 },
      { key: 'least', heading: 'least', unit: 'MB/s', digits: 2 },
      { key: 'most', heading: 'most', unit: 'MB/s', digits: 2 },
      { key: 'cpu', heading: 'per second of CPU', unit: 'MB', digits: 2 },
    ],
    rows: steps.map(({ name, threads, mbPerSecond, mbPerCpuSecond }) => ({
      ...{ name, threads, ...spreadOf(mbPerSecond) },
      cpu: spreadOf(mbPerCpuSecond)?.median ?? null,
    })),
  };
}

function latencyTable(answers: PipelineOutput['answers']): ReportTable {
  const median = (values: readonly number[]) => spreadOf(values)?.median ?? null;
  return {
    title: 'One answer at a time: median of the rounds',
    columns: [
      { key: 'name', heading: 'answer', unit: null, digits: 0 },
      { key: 'p50', heading: 'p50', unit: 'µs', digits: 1 },
      { key: 'p95', heading: 'p95', unit: 'µs', digits: 1 },
      { key: 'cpu', heading: 'CPU', unit: 'µs', digits: 1 },
    ],
    rows: answers.map(({ name, p50, p95, cpu }) => ({
      ...{ name, p50: median(p50), p95: median(p95), cpu: median(cpu) },
    })),
  };
}
