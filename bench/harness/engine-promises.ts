import type { Row, Table } from '../report/findings.ts';
import { filters } from '../vectors/tags.ts';
import { buildRate, churnRounds, medianOf, modeOf, ownBytesPerVector, timesOf } from './engine-figures.ts';
import { type MeasuredEngine, recallTargets } from './engine-measurement.ts';

/** What the engine is meant to reach, each beside what this run measured. */
export function promiseTable(engines: readonly MeasuredEngine[]): Table {
  const own = engines.find(({ name }) => name === 'quarry');
  const peer = (wanted: string) => engines.find(({ name }) => name === wanted);
  return {
    title: 'Reached and wanted',
    columns: [
      { key: 'what', heading: 'what', unit: null, digits: 0 },
      { key: 'reached', heading: 'reached', unit: null, digits: 2 },
      { key: 'wanted', heading: 'wanted', unit: null, digits: 0 },
      { key: 'verdict', heading: 'verdict', unit: null, digits: 0 },
    ],
    rows: own === undefined ? [] : promises(own, peer).map(rowOf),
  };
}

interface Wanted {
  readonly what: string;
  readonly reached: number | null;
  readonly least?: number;
  readonly most?: number;
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
  const { churned } = own;
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
    {
      what: `recall lost by replacing 20 % of the vectors ${churned === null ? 0 : churnRounds(churned)} times`,
      reached: churned === null ? null : churned.recalls[0]! - churned.recalls.at(-1)!,
      most: 0.01,
    },
  ];
}

function rowOf({ what, reached, least, most }: Wanted): Row {
  const kept = reached !== null && reached >= (least ?? reached) && reached <= (most ?? reached);
  return {
    what,
    reached,
    wanted: least === undefined ? `<= ${Number((most ?? 0).toFixed(3))}` : `>= ${least}`,
    verdict: reached === null ? 'not measured' : kept ? 'reached' : 'MISSED',
  };
}
