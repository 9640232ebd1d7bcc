import { shardsCase, toShardsFindings } from '../../bench/cases/shards.ts';
import type { LoadFigures } from '../../bench/harness/load-figures.ts';
import { readCommandLine } from '../../bench/harness/options.ts';
import { snippetsCall } from '../../bench/harness/query-calls.ts';
import type { SearchMeasurement } from '../../bench/harness/search-measurement.ts';
import t from '../support/tap.ts';

/** Sample result of the case "shards", over collections of 10,000 documents. */
function shardsMeasurement(
  rates: readonly (number | null)[],
  latenessP99Ms: number | null,
): SearchMeasurement {
  const plans = [1, 64].map((shards) => ({ name: `of ${shards}`, shards, documents: 10_000 }));
  const figuresOf = (serverCpuUs: number): LoadFigures => ({
    queriesPerSecond: 100,
    p50Ms: 1,
    p90Ms: 2,
    p99Ms: 3,
    p999Ms: 4,
    mostMs: 5,
    samples: 1_000,
    abandoned: 0,
    serverCpuUs,
    clientCpuUs: 10,
    latenessP99Ms,
  });
  const configurations = rates.flatMap((ratePerSecond) =>
    plans.map((collection) => {
      const joined = figuresOf(100 * Math.sqrt(collection.shards));
      return {
        configuration: {
          ...({
            name: `${collection.name}, ${ratePerSecond}`,
            http: 'uws',
            subject: 'quarry',
            call: snippetsCall,
            collection,
            connections: 8,
          } as const),
          ...({ ratePerSecond, client: 'own' } as const),
        },
        rounds: [joined, joined, joined],
        joined,
      };
    }),
  );
  const portion = { documents: 256, textBytes: 1e6, ms: 250, serverCpuMs: 300 };
  return {
    configurations,
    echoes: [],
    calls: [],
    complete: true,
    source: { name: 'generated', description: 'Corpus: generated documents.' },
    ceiling: { rounds: [figuresOf(1)], joined: { ...figuresOf(1), queriesPerSecond: 10_000 } },
    filled: plans.map((plan) => ({ plan, portions: [portion] })),
    agreement: [1, 0.99],
    replyBytes: 1_000,
    answeredBy: { uws: 'uws' },
    modelMs: null,
    strategies: [{ graph: 50 }, { graph: 100, scan: 3_100 }],
  };
}

t.test(
  'lines of two rates have different names, and every shard count shows its search strategy',
  async (t) => {
    const options = readCommandLine([]).optionsFor(shardsCase.presets.full);
    const { charts, tables, notes } = toShardsFindings(shardsMeasurement([50, 100], 0.2), options);
    for (const chart of charts) {
      const names = chart.kind === 'lines' ? chart.series.map(({ name }) => name) : [];
      t.equal(new Set(names).size, names.length, `${chart.title}: ${names.join('; ')}`);
    }
    const [throughput] = charts;
    t.same(throughput?.kind === 'lines' && throughput.series.map(({ name }) => name), [
      '10000 d, 8 c, 50/s',
      '10000 d, 8 c, 100/s',
    ]);
    t.same(
      tables.at(-1)?.rows.map(({ shards, strategy }) => [shards, strategy]),
      [
        [1, 'graph'],
        [64, 'scan 96.9 %, graph 3.1 %'],
      ],
    );
    t.same(
      tables[0]?.rows.map(({ metric, verdict }) => [/\d+ shards/.exec(String(metric))?.[0], verdict]),
      [...[8, 16, 32].map((shards) => [`${shards} shards`, 'not measured']), ['64 shards', 'reached']],
      'the target applies to --full',
    );
    t.match(notes.join('\n'), /HTTP is in both sides of every ratio/);
  },
);

t.test('a report states the delay of the generator for an open loop only', async (t) => {
  const notesOf = (rates: readonly (number | null)[], latenessMs: number | null) =>
    toShardsFindings(shardsMeasurement(rates, latenessMs), readCommandLine([]).optionsFor('')).notes.join(
      '\n',
    );
  t.notMatch(notesOf([null], null), /Open loop|scheduling delay|n\/a ms/);
  t.match(notesOf([null], null), /Closed loop: /);
  t.match(notesOf([50], 0.25), /Open loop: .*scheduling delay .* up to 0\.25 ms \(p99\)/);
  t.notMatch(notesOf([50], 0.25), /Closed loop: /);
  t.match(notesOf([50], null), /Open loop: .*too few requests to measure the scheduling delay/);
});
