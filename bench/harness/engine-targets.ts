import { formatNumber } from '../report/format-number.ts';
import {
  isMeasuredLongEnough,
  listUnmetConditions,
  type PerformanceTarget,
} from '../report/performance-targets.ts';
import { filters } from '../vectors/tags.ts';
import {
  buildRate,
  churnRounds,
  findMode,
  medianOf,
  ownBytesPerVector,
  ratioOfModes,
} from './engine-figures.ts';
import type { EngineMeasurement, MeasuredEngine } from './engine-measurement.ts';
import { recallTargets } from './engine-tuning.ts';
import type { BenchOptions } from './options.ts';

const targetSetup = { rows: 100_000, dimensions: 384, results: 10, churnRounds: 10, secondsLeast: 0.3 };

/** Targets of the engine for 100,000 x 384 vectors, with the values measured in this run. */
export function engineTargets(
  { set, engines }: EngineMeasurement,
  options: BenchOptions,
): PerformanceTarget[] {
  const own = engines.find(({ name }) => name === 'quarry');
  if (own === undefined) return [];
  const size = `${formatNumber(targetSetup.rows, 0)} x ${targetSetup.dimensions} vectors`;
  const conditions = [
    [size, set.rows === targetSetup.rows && set.dimensions === targetSetup.dimensions] as const,
    [`the best ${targetSetup.results}`, options.results === targetSetup.results] as const,
    isMeasuredLongEnough(options, targetSetup.secondsLeast),
  ];
  const rounds = own.churned === null ? 0 : churnRounds(own.churned);
  const churnCondition = [
    `${targetSetup.churnRounds} rounds of replacing`,
    rounds === targetSetup.churnRounds,
  ] as const;
  const peer = (target: string) => engines.find(({ name }) => name === target);
  return [
    ...searchTargets(own, peer).map((target) => ({
      ...target,
      unmetConditions: listUnmetConditions(conditions),
    })),
    { ...churnTarget(own, rounds), unmetConditions: listUnmetConditions([...conditions, churnCondition]) },
  ];
}

function searchTargets(
  own: MeasuredEngine,
  peer: (name: string) => MeasuredEngine | undefined,
): PerformanceTarget[] {
  const targetAgainst = (name: string, mode: string, least: number): PerformanceTarget => ({
    metric: `searches per second of CPU relative to ${name}, ${mode}`,
    reached: ratioOfModes(findMode(own, mode), findMode(peer(name), mode)),
    least,
  });
  return [
    targetAgainst('hnswlib-node', 'recall 0.95', 7),
    targetAgainst('hnswlib-node', 'recall 0.99', 6),
    ...recallTargets.map((target) => ({
      metric: `searches per second of CPU with AVX2 only (quarry (avx2)) relative to hnswlib-node, recall ${target}`,
      reached: ratioOfModes(
        findMode(peer('quarry (avx2)'), `recall ${target}`),
        findMode(peer('hnswlib-node'), `recall ${target}`),
      ),
      least: 4,
    })),
    targetAgainst('hnswlib (native)', 'recall 0.95', 3),
    targetAgainst('hnswlib (native)', 'recall 0.99', 3),
    targetAgainst('usearch', 'recall 0.95', 8),
    targetAgainst('usearch', 'recall 0.99', 8),
    targetAgainst('hnswlib-node', 'filter 50 %', 4),
    targetAgainst('hnswlib-node', 'filter 10 %', 10),
    targetAgainst('hnswlib-node', 'filter 1 %', 200),
    ...filters.map(({ name }) => ({
      metric: `recall, filter ${name}`,
      reached: findMode(own, `filter ${name}`)?.recall ?? null,
      least: 0.95,
    })),
    ...buildTargets(own, peer('hnswlib-node')),
  ];
}

function buildTargets(own: MeasuredEngine, node: MeasuredEngine | undefined): PerformanceTarget[] {
  const [ownBytes, peerBytes] = [
    ownBytesPerVector(own.loaded, 1),
    ownBytesPerVector(node?.loaded ?? null, 1),
  ];
  const idle = findMode(own, 'recall 0.95, not inserting');
  const busy = findMode(own, 'recall 0.95, while inserting');
  const p99 = (mode: typeof idle) => medianOf(mode, ({ p99Ms }) => p99Ms);
  const [idleMs, busyMs] = [p99(idle), p99(busy)];
  return [
    {
      metric: 'vectors built per second of CPU relative to hnswlib-node',
      reached: node === undefined ? null : buildRate(own, 1) / buildRate(node, 1),
      least: 4.5,
    },
    {
      metric: 'private memory per vector after loading, relative to hnswlib-node',
      reached: ownBytes === null || peerBytes === null ? null : ownBytes / peerBytes,
      most: 1 / 3,
    },
    {
      metric: 'p99 of a search during inserts, relative to idle',
      reached: idleMs === null || busyMs === null ? null : busyMs / idleMs,
      most: 1.2,
    },
  ];
}

function churnTarget({ churned }: MeasuredEngine, rounds: number): PerformanceTarget {
  return {
    metric: `recall lost by replacing 20 % of the vectors ${rounds} times`,
    reached: churned === null ? null : churned.recalls[0]! - churned.recalls.at(-1)!,
    most: 0.01,
  };
}
