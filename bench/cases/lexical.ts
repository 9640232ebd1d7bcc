import { assertDefined } from '../../src/core/assert.ts';
import type { BenchCase } from '../harness/bench-case.ts';
import { spreadOf } from '../harness/statistics.ts';
import { runTask } from '../harness/task-process.ts';
import type { Figure, ReportTable } from '../report/findings.ts';
import { formatNumber } from '../report/format-number.ts';
import {
  isMeasuredLongEnough,
  listUnmetConditions,
  type PerformanceTarget,
  targetTable,
} from '../report/performance-targets.ts';
import type { LexicalInput, LexicalOutput, LexicalRound } from './lexical-task.ts';

const target = { kind: 'five words, two of them common', p50Ms: 5, chunks: 1_000_000, results: 100 } as const;

/** Measures the latency of lexical search for the best chunks by BM25. */
export const lexicalCase: BenchCase = {
  name: 'lexical',
  summary: 'best chunks by BM25 in one shard on one core, for queries with common and with rare words',
  presets: {
    smoke: '--vectors 500 --seconds 0.02 --rounds 2 --results 100',
    usual: '--vectors 50000 --seconds 1 --rounds 3 --results 100',
    full: '--vectors 1000000 --seconds 5 --rounds 5 --results 100',
  },
  async run({ options, ...context }) {
    const { vectors: chunks, seed, seconds, rounds, results } = options;
    const input: LexicalInput = { chunks, seed, seconds, rounds, results };
    const task = new URL('./lexical-task.js', import.meta.url);
    const output = await runTask<LexicalOutput>(task, input, context);
    return {
      title: `BM25 over ${formatNumber(chunks, 0)} chunks: the best ${results}`,
      method: [
        `One shard on one searching thread, filled through the addon with ${formatNumber(chunks, 0)} chunks of 320 words under Zipf's law (${formatNumber(output.entriesPerChunk, 0)} different words each), 20 per document.`,
        'One search at a time; each round measures the kinds of queries in a random order. Words are searched without alternatives. CPU is that of the whole process.',
      ],
      tables: [
        targetTable([toPerformanceTarget(output, input)], 3),
        searches(output),
        memory(output, chunks),
      ],
      charts: [
        {
          kind: 'bars',
          title: `p50 of one search over ${formatNumber(chunks, 0)} chunks`,
          yLabel: 'ms',
          bars: output.kinds.map(({ name, rounds: all }) => ({
            name,
            value: median(all, ({ p50Ms }) => p50Ms),
          })),
        },
      ],
      notes: [
        'Generated words have Zipf frequencies over 200,000 words and no topics. Real texts repeat their own words more, so posting lists are shorter and the scores of the best chunks differ more.',
      ],
      figures: output.kinds.flatMap(({ name, rounds: all }): Figure[] => {
        const p50 = all.flatMap(({ p50Ms }) => p50Ms ?? []);
        return [
          { name: `${name}: CPU`, unit: 'us/search', better: 'less', values: all.map(({ cpuUs }) => cpuUs) },
          ...(p50.length < all.length
            ? []
            : [{ name: `${name}: p50`, unit: 'ms', better: 'less' as const, values: p50 }]),
        ];
      }),
      measured: output,
    };
  },
};

function median(
  rounds: readonly LexicalRound[],
  which: (round: LexicalRound) => number | null,
): number | null {
  return spreadOf(rounds.map(which))?.median ?? null;
}

function toPerformanceTarget(
  { kinds }: LexicalOutput,
  { chunks, results, ...times }: LexicalInput,
): PerformanceTarget {
  const measuredKind = assertDefined(
    kinds.find(({ name }) => name === target.kind),
    'the kind of the target is measured',
  );
  return {
    metric: `p50 of a search for the best ${target.results} of ${formatNumber(target.chunks, 0)} chunks, ${target.kind}, on one core [ms]`,
    reached: median(measuredKind.rounds, ({ p50Ms }) => p50Ms),
    most: target.p50Ms,
    unmetConditions: listUnmetConditions([
      [`${formatNumber(target.chunks, 0)} chunks`, chunks === target.chunks],
      [`the best ${target.results}`, results === target.results],
      isMeasuredLongEnough(times, 1),
    ]),
  };
}

function searches({ kinds }: LexicalOutput): ReportTable {
  return {
    title: 'Searches',
    columns: [
      { key: 'name', heading: 'query', unit: null, digits: 0 },
      { key: 'p50', heading: 'p50', unit: 'ms', digits: 3 },
      { key: 'p99', heading: 'p99', unit: 'ms', digits: 3 },
      { key: 'cpu', heading: 'CPU', unit: 'us/search', digits: 0 },
    ],
    rows: kinds.map(({ name, rounds }) => ({
      name,
      p50: median(rounds, ({ p50Ms }) => p50Ms),
      p99: median(rounds, ({ p99Ms }) => p99Ms),
      cpu: median(rounds, ({ cpuUs }) => cpuUs),
    })),
  };
}

function memory({ bytesByPart }: LexicalOutput, chunks: number): ReportTable {
  return {
    title: 'Memory of the shard by part',
    columns: [
      { key: 'part', heading: 'part', unit: null, digits: 0 },
      { key: 'bytes', heading: 'bytes per chunk', unit: null, digits: 1 },
    ],
    rows: Object.entries(bytesByPart).map(([part, bytes]) => ({ part, bytes: bytes / chunks })),
  };
}
