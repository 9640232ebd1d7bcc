import { figure } from '../report/figures.ts';
import { measuredLongEnough, unmet, type Wanted } from '../report/promises.ts';
import { filters } from '../vectors/tags.ts';
import { buildRate, churnRounds, medianOf, modeOf, ownBytesPerVector, timesOf } from './engine-figures.ts';
import { type EngineMeasurement, type MeasuredEngine, recallTargets } from './engine-measurement.ts';
import type { BenchOptions } from './options.ts';

const promised = { rows: 100_000, dimensions: 384, results: 10, churnRounds: 10, secondsLeast: 0.3 };

/** What the engine is meant to reach with 100,000 x 384 vectors, each beside what this run measured. */
export function enginePromises({ set, engines }: EngineMeasurement, options: BenchOptions): Wanted[] {
  const own = engines.find(({ name }) => name === 'quarry');
  if (own === undefined) return [];
  const size = `${figure(promised.rows, 0)} x ${promised.dimensions} vectors`;
  const setUp = [
    [size, set.rows === promised.rows && set.dimensions === promised.dimensions] as const,
    [`the best ${promised.results}`, options.results === promised.results] as const,
    measuredLongEnough(options, promised.secondsLeast),
  ];
  const rounds = own.churned === null ? 0 : churnRounds(own.churned);
  const times = [`${promised.churnRounds} rounds of replacing`, rounds === promised.churnRounds] as const;
  const peer = (wanted: string) => engines.find(({ name }) => name === wanted);
  return [
    ...promises(own, peer).map((wanted) => ({ ...wanted, promisedFor: unmet(setUp) })),
    { ...churnPromise(own, rounds), promisedFor: unmet([...setUp, times]) },
  ];
}

function promises(own: MeasuredEngine, peer: (name: string) => MeasuredEngine | undefined): Wanted[] {
  const against = (name: string, mode: string, least: number): Wanted => ({
    what: `searches per second of CPU against ${name}, ${mode}`,
    reached: timesOf(modeOf(own, mode), modeOf(peer(name), mode)),
    least,
  });
  return [
    against('hnswlib-node', 'recall 0.95', 7),
    against('hnswlib-node', 'recall 0.99', 6),
    ...recallTargets.map((target) => ({
      what: `searches per second of CPU with AVX2 only (quarry (avx2)) against hnswlib-node, recall ${target}`,
      reached: timesOf(
        modeOf(peer('quarry (avx2)'), `recall ${target}`),
        modeOf(peer('hnswlib-node'), `recall ${target}`),
      ),
      least: 4,
    })),
    against('hnswlib (native)', 'recall 0.95', 3),
    against('hnswlib (native)', 'recall 0.99', 3),
    against('usearch', 'recall 0.95', 8),
    against('usearch', 'recall 0.99', 8),
    against('hnswlib-node', 'filter 50 %', 4),
    against('hnswlib-node', 'filter 10 %', 10),
    against('hnswlib-node', 'filter 1 %', 200),
    ...filters.map(({ name }) => ({
      what: `recall, filter ${name}`,
      reached: modeOf(own, `filter ${name}`)?.recall ?? null,
      least: 0.95,
    })),
    ...oncePromises(own, peer('hnswlib-node')),
  ];
}

function oncePromises(own: MeasuredEngine, node: MeasuredEngine | undefined): Wanted[] {
  const [ownBytes, peerBytes] = [
    ownBytesPerVector(own.loaded, 1),
    ownBytesPerVector(node?.loaded ?? null, 1),
  ];
  const idle = modeOf(own, 'recall 0.95, not inserting');
  const busy = modeOf(own, 'recall 0.95, while inserting');
  const p99 = (mode: typeof idle) => medianOf(mode, ({ p99Ms }) => p99Ms);
  const [idleMs, busyMs] = [p99(idle), p99(busy)];
  return [
    {
      what: 'vectors built per second of CPU against hnswlib-node',
      reached: node === undefined ? null : buildRate(own, 1) / buildRate(node, 1),
      least: 4.5,
    },
    {
      what: 'memory of its own per vector, loaded from what was saved, against hnswlib-node',
      reached: ownBytes === null || peerBytes === null ? null : ownBytes / peerBytes,
      most: 1 / 3,
    },
    {
      what: 'p99 of a search while inserting against idle',
      reached: idleMs === null || busyMs === null ? null : busyMs / idleMs,
      most: 1.2,
    },
  ];
}

function churnPromise({ churned }: MeasuredEngine, rounds: number): Wanted {
  return {
    what: `recall lost by replacing 20 % of the vectors ${rounds} times`,
    reached: churned === null ? null : churned.recalls[0]! - churned.recalls.at(-1)!,
    most: 0.01,
  };
}
