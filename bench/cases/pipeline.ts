import { basename } from 'node:path';
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
      `${judged === null ? 'Generated text' : `Text of ${basename(judged)}`}; a document of about 8,000 words is parsed (as plain text and as HTML) and chunked, 32 pieces of 2,000 characters are embedded and 100 are reranked, repeatedly, with one task more in progress than the pool has threads.`,
      `Rounds: ${rounds}, each step ${seconds} s per round, in a random order. Only text is counted, without markup.`,
      'Latency: one request at a time on one thread, each with another question.',
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
      'Every figure includes the messages to and from a worker, as in the server, and excludes index and store. The case "ingest" measures the complete pipeline.',
      'Per second of CPU: the CPU time of all threads of the process. Other load on the machine hardly affects it.',
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
            metric: `${name}: MB of text per second of CPU`,
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
      name,
      threads,
      ...spreadOf(mbPerSecond),
      cpu: spreadOf(mbPerCpuSecond)?.median ?? null,
    })),
  };
}

function latencyTable(answers: PipelineOutput['answers']): ReportTable {
  const median = (values: readonly number[]) => spreadOf(values)?.median ?? null;
  return {
    title: 'One request at a time: median of the rounds',
    columns: [
      { key: 'name', heading: 'answer', unit: null, digits: 0 },
      { key: 'p50', heading: 'p50', unit: 'µs', digits: 1 },
      { key: 'p95', heading: 'p95', unit: 'µs', digits: 1 },
      { key: 'cpu', heading: 'CPU', unit: 'µs', digits: 1 },
    ],
    rows: answers.map(({ name, p50, p95, cpu }) => ({
      name,
      p50: median(p50),
      p95: median(p95),
      cpu: median(cpu),
    })),
  };
}
