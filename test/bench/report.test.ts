import { Parser } from 'htmlparser2';
import t from 'tap';
import { shardsCase, toShardsFindings } from '../../bench/cases/shards.ts';
import type { MeasuredEngine } from '../../bench/harness/engine-measurement.ts';
import { engineTargets } from '../../bench/harness/engine-targets.ts';
import { processorFacts } from '../../bench/harness/machine.ts';
import { readCommandLine } from '../../bench/harness/options.ts';
import type { LoadFigures, SearchMeasurement } from '../../bench/harness/search-measurement.ts';
import { formatCells } from '../../bench/report/blocks.ts';
import { compareReports } from '../../bench/report/compare.ts';
import type { Chart, Report } from '../../bench/report/findings.ts';
import { htmlReport } from '../../bench/report/html.ts';
import { markdownReport } from '../../bench/report/markdown.ts';
import {
  isMeasuredLongEnough,
  listUnmetConditions,
  targetTable,
} from '../../bench/report/performance-targets.ts';
import { createScale, linearTicks } from '../../bench/report/scales.ts';
import { assignStyles } from '../../bench/report/styles.ts';
import { svgCharts } from '../../bench/report/svg.ts';

const shards = { label: 'shards', scale: 'logarithmic' } as const;
const at = (x: number, y: number | null) => ({ x, y });
const charts: readonly Chart[] = [
  {
    kind: 'lines',
    title: 'Throughput <of> "A & B"',
    x: { ...shards, ticks: [1, 8, 64].map((tick) => ({ at: tick, label: String(tick) })) },
    y: { label: 'queries per second', scale: 'linear' },
    series: [
      {
        name: 'q/s',
        points: [{ ...at(1, 2_000), spread: { least: 1_900, most: 2_300 } }, at(8, null), at(64, 1_000)],
      },
    ],
  },
  {
    kind: 'lines',
    title: 'Latency',
    x: shards,
    y: { label: 'latency [ms]', scale: 'logarithmic' },
    series: [
      { name: 'p50', points: [at(1, 0.5), at(8, 0.7), at(64, 300)] },
      { name: 'p99', points: [at(1, null), at(8, null), at(64, null)] },
    ],
  },
  {
    kind: 'bars',
    title: 'Memory',
    yLabel: 'bytes',
    bars: [
      { name: 'ours', value: 520 },
      { name: 'theirs', value: null },
    ],
  },
];

interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** Elements and text of an XML document; throws if a tag is not closed correctly. */
function parseXml(xml: string): { readonly elements: Element[]; readonly words: string } {
  const open: string[] = [];
  for (const [tag, closing, name = '', selfClosing] of xml.matchAll(/<(\/?)([a-z]+)[^<>]*?(\/?)>/g)) {
    if (closing === '/' && open.pop() !== name) throw new Error(`${tag} closes another element`);
    if (closing === '' && selfClosing === '') open.push(name);
  }
  if (open.length > 0) throw new Error(`<${open.join('> <')}> stay open`);
  const elements: Element[] = [];
  let words = '';
  const parser = new Parser(
    {
      onopentag: (name, attributes) => void elements.push({ name, attributes }),
      ontext: (text) => {
        words += text;
      },
    },
    { xmlMode: true },
  );
  parser.end(xml);
  return { elements, words };
}

t.test('the picture is one well-formed SVG whose coordinates are numbers inside it', async (t) => {
  const svg = svgCharts('Title & more', charts);
  const { elements } = parseXml(svg);
  t.equal(svg.match(/&(?!amp;|lt;|gt;|quot;)/g), null, 'every & is escaped');
  t.equal(elements[0]?.name, 'svg');
  t.notMatch(svg, /NaN|undefined|Infinity|https?:\/\/(?!www\.w3\.org\/2000\/svg)/);
  const height = Number(elements[0]?.attributes.height);
  for (const { name, attributes } of elements.filter((element) =>
    ['line', 'circle', 'text'].includes(element.name),
  )) {
    const ys = [attributes.y, attributes.y1, attributes.y2, attributes.cy].filter((y) => y !== undefined);
    t.ok(
      ys.every((y) => Number(y) >= 0 && Number(y) <= height),
      `${name} ${ys.join(' ')}`,
    );
  }
});

t.test('titles, axes with their units, series and values can be read, in light and dark', async (t) => {
  const svg = svgCharts('Title & more', charts);
  const { words } = parseXml(svg);
  const expected = [
    ...['Title & more', 'Throughput <of> "A & B"', 'Latency', 'shards', 'queries per second', 'latency [ms]'],
    ...['p50', 'p99', '2,000', '64', 'ours', '520', 'n/a', '0.5', '500'],
  ];
  for (const word of expected) t.ok(words.includes(word), word);
  t.match(svg, /prefers-color-scheme: dark/);
});

t.test('a gap stays a gap', async (t) => {
  const { elements } = parseXml(svgCharts('x', charts));
  t.equal(elements.filter(({ name }) => name === 'circle').length, 2, 'two points of the first series');
  t.equal(
    elements.filter(({ name, attributes }) => name === 'rect' && attributes.width === '8').length,
    3 + 1,
    'three points of the second, and its legend',
  );
  const lines = elements.filter(
    ({ name, attributes }) => name === 'path' && /line/.test(attributes.class ?? ''),
  );
  t.same(
    lines.map(({ attributes }) => attributes.d?.replace(/[^ML]/g, '')),
    ['MM', 'MLL'],
    'no line is drawn across the missing value, and none where there are only gaps',
  );
});

/** Style of each name in the legends of an SVG, chart by chart. */
function seriesStylesOf(svg: string): Map<string, string>[] {
  return svg
    .split('<g class="panel"')
    .slice(1)
    .map((panel) => {
      const legends = panel.matchAll(
        /class="line (s\d)[^>]*>(?:<circle|<rect|<path)[^>]*><text[^>]*>([^<]*)</g,
      );
      return new Map([...legends].map(([, style = '', name = '']) => [name, style]));
    });
}

t.test('a name looks the same in every chart of a page, and different names of a chart do not', async (t) => {
  const lines = (names: readonly string[]): Chart => ({
    ...{ kind: 'lines', title: names.join(), x: shards, y: shards },
    series: names.map((name) => ({ name, points: [at(1, 1), at(8, 2)] })),
  });
  const engines = 'quarry,hnswlib-node,hnswlib (native),usearch,sqlite-vec,lancedb'.split(',');
  const page: readonly Chart[] = [
    lines(engines),
    lines(engines.filter((name) => name !== 'usearch')),
    { ...{ kind: 'bars', title: 'Memory', yLabel: '' }, bars: [{ name: 'lancedb', value: 1 }] },
    lines(['p50', 'p90', 'p99', 'p99.9', 'lancedb']),
  ];
  const svg = svgCharts('x', page);
  const styles = seriesStylesOf(svg);
  t.same([...styles[0]!.keys()], engines);
  for (const chart of [styles[0]!, styles[1]!, styles[3]!]) {
    t.equal(new Set(chart.values()).size, chart.size, [...chart].join(' '));
    for (const [name, style] of chart) {
      t.equal(style, styles.find((one) => one.has(name))?.get(name), name);
    }
  }
  const bar = /<rect class="f(\d)"[^>]*height="[^8][^>]*>/.exec(svg.split('>Memory<')[1] ?? '')?.[1];
  t.equal(`s${bar}`, styles[0]!.get('lancedb'), 'bars too');
  t.ok(!new Set(styles[0]!.values()).has(styles[3]!.get('p50')!), 'a look that nobody has is taken first');
  const html = htmlReport('Page', [
    { report: { ...report, charts: [lines(['p50', 'p90'])] }, comparison: null },
    { report: { ...report, case: 'engine', charts: page }, comparison: null },
  ]);
  const [first, ...others] = seriesStylesOf(html);
  t.equal(others.at(-1)!.get('p90'), first!.get('p90'), 'also from one case of the page to the next');
  t.equal(
    assignStyles([lines(Array.from({ length: 20 }, (_, i) => `${i}`))]).size,
    20,
    'more names than looks',
  );
});

t.test('a legend has room for long names and for many, above the plot', async (t) => {
  const names = [50, 100].flatMap((rate) =>
    [1, 8, 32].flatMap((clients) => [1_000, 10_000].map((size) => `${size} d, ${clients} c, ${rate}/s`)),
  );
  const chart: Chart = {
    ...{ kind: 'lines', title: 'Throughput', x: shards, y: shards },
    series: names.map((name) => ({ name, points: [at(1, 1), at(8, 2)] })),
  };
  const { elements } = parseXml(svgCharts('x', [chart, chart]));
  const samples = elements.filter(
    ({ name, attributes }) => name === 'line' && attributes.class?.startsWith('line '),
  );
  t.equal(samples.length, 2 * names.length);
  const places = samples.slice(0, names.length).map(({ attributes: { x1, y1 } }) => [Number(x1), Number(y1)]);
  const columns = [...new Set(places.map(([x]) => x!))].toSorted((a, b) => a - b);
  t.ok(columns.length > 1 && columns[1]! - columns[0]! > 40 + 6.5 * '10000 d, 32 c, 100/s'.length);
  const shifts = elements.flatMap(({ name, attributes: { transform } }) =>
    name === 'g' ? [Number(/^translate\(0 (\d+)\)$/.exec(transform ?? '')?.[1] ?? Number.NaN)] : [],
  );
  const [, plotTop = 0] = shifts.filter((shift) => !Number.isNaN(shift));
  t.ok(Math.max(...places.map(([, y]) => y!)) < 96 + plotTop, 'the last row ends where the plot begins');
  t.equal(Number(elements[0]?.attributes.height), 2 * (360 + plotTop), 'and the picture is as much higher');
});

t.test('an axis of recalls spreads the top and has a place for those that miss nothing', async (t) => {
  const { ticks, position: share } = createScale(
    { label: '', scale: 'recall' },
    [0.62, 0.97, 0.9991, 1],
    false,
  );
  t.same(
    ticks.map(({ label }) => label),
    ['0.5', '0.8', '0.9', '0.95', '0.98', '0.99', '0.995', '0.999', '0.9999 to 1'],
  );
  t.equal(share(0.5), 0);
  t.equal(share(1), 1);
  t.ok(Math.abs(share(0.99) - share(0.9) - (share(0.999) - share(0.99))) < 1e-9);
  t.ok(share(0.999) - share(0.98) > 0.3, 'a third of the axis');
  const narrow = createScale({ label: '', scale: 'recall' }, [0.96, 0.97], false);
  t.same(
    narrow.ticks.map(({ label }) => label),
    ['0.95', '0.98'],
  );
  const single = createScale({ label: '', scale: 'recall' }, [0.95], false);
  t.ok(single.position(0.95) === 1 && single.ticks.length === 2);
  t.same(createScale({ label: '', scale: 'recall' }, [0, 0], false).position(0), 0);
});

t.test('linear ticks are round and reach from the least value to the largest', async (t) => {
  t.same(linearTicks(0, 0), [0, 1]);
  t.same(linearTicks(0, 10), [0, 2, 4, 6, 8, 10]);
  t.same(linearTicks(0, 0.31), [0, 0.1, 0.2, 0.3, 0.4]);
  t.same(linearTicks(0.9, 1), [0.9, 0.92, 0.94, 0.96, 0.98, 1]);
  for (const most of [1e-4, 0.07, 1, 3.3, 49, 51, 99_999, 1.2e7]) {
    const ticks = linearTicks(0, most);
    t.ok(
      ticks[0] === 0 && (ticks.at(-1) ?? 0) >= most * 0.999999 && ticks.length <= 7,
      `${most}: ${ticks.join(' ')}`,
    );
  }
});

t.test('a logarithmic axis keeps distances of ratios and has its ticks around the values', async (t) => {
  const { ticks, position: share } = createScale({ label: '', scale: 'logarithmic' }, [300, 60_000], true);
  t.same(
    ticks.map(({ label }) => label),
    ['200', '500', '1,000', '2,000', '5,000', '10,000', '20,000', '50,000', '100,000'],
  );
  t.equal(share(200), 0);
  t.equal(share(100_000), 1);
  t.ok(Math.abs(share(2_000) - share(200) - (share(20_000) - share(2_000))) < 1e-9);
});

const report: Report = {
  format: 2,
  case: 'shards',
  title: 'Title',
  startedAt: '2026-01-02T03:04:05.678Z',
  command: 'npm run bench -- shards',
  options: {},
  machine: {
    processor: 'A processor',
    cores: 2,
    memoryBytes: 8e9,
    system: 'linux 6 x64',
    node: '20.0.0',
    quarry: '0.1.0',
    commit: null,
    loadBefore: 0.5,
    loadAfter: 1.25,
  },
  method: ['How.'],
  tables: [
    {
      title: 'Figures',
      columns: [
        { key: 'axis', heading: 'a|b', unit: null, digits: 0 },
        { key: 'rate', heading: 'throughput', unit: 'queries/s', digits: 1 },
        { key: 'who', heading: 'who', unit: null, digits: 0 },
      ],
      rows: [
        { axis: 1, rate: 12_345.67, who: 'A <b>' },
        { axis: 8, rate: null, who: 'C' },
      ],
    },
  ],
  charts,
  notes: ['Note.'],
  figures: [],
  measured: null,
};

t.test(
  'the table has a cell for every column, units in the heading, and n/a for what is not known',
  async (t) => {
    const page = markdownReport(report, 'shards.svg', null);
    const lines = page.split('\n').filter((line) => line.startsWith('|'));
    t.same(lines, [
      '| a\\|b | throughput [queries/s] | who |',
      '| ---: | ---: | :--- |',
      '| 1 | 12,345.7 | A <b> |',
      '| 8 | n/a | C |',
    ]);
    for (const word of ['![Title](shards.svg)', 'How.', 'Note.', 'A processor', 'npm run bench -- shards']) {
      t.ok(page.includes(word), word);
    }
  },
);

/** Sample result of the case "shards", over collections of 10,000 documents. */
function shardsMeasurement(
  rates: readonly (number | null)[],
  latenessP99Ms: number | null,
): SearchMeasurement {
  const plans = [1, 64].map((shards) => ({ name: `of ${shards}`, shards, documents: 10_000 }));
  const figuresOf = (serverCpuUs: number): LoadFigures => ({
    ...{ queriesPerSecond: 100, p50Ms: 1, p90Ms: 2, p99Ms: 3, p999Ms: 4, mostMs: 5, samples: 1_000 },
    ...{ abandoned: 0, serverCpuUs, clientCpuUs: 10, latenessP99Ms },
  });
  const configurations = rates.flatMap((ratePerSecond) =>
    plans.map((collection) => {
      const joined = figuresOf(100 * Math.sqrt(collection.shards));
      return {
        configuration: {
          ...({
            name: `${collection.name}, ${ratePerSecond}`,
            http: 'uws',
            collection,
            connections: 8,
          } as const),
          ...({ ratePerSecond, client: 'own' } as const),
        },
        ...{ rounds: [joined, joined, joined], joined },
      };
    }),
  );
  const portion = { documents: 256, textBytes: 1e6, ms: 250, serverCpuMs: 300 };
  return {
    configurations,
    ceiling: { rounds: [figuresOf(1)], joined: { ...figuresOf(1), queriesPerSecond: 10_000 } },
    filled: plans.map((plan) => ({ plan, portions: [portion] })),
    ...{ agreement: [1, 0.99], replyBytes: 1_000, answeredBy: { uws: 'uws' }, modelMs: null },
    strategies: [{ graph: 50 }, { graph: 100, scan: 3_100 }],
  };
}

t.test(
  'lines of two rates have two names, and every shard count says how its shards were searched',
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
      tables[0]?.rows.map(({ what, verdict }) => [/\d+ shards/.exec(String(what))?.[0], verdict]),
      [...[8, 16, 32].map((shards) => [`${shards} shards`, 'not measured']), ['64 shards', 'reached']],
      '--full is what the promise is for',
    );
    t.match(notes.join('\n'), /What HTTP takes is in both sides of every ratio/);
  },
);

t.test('only of an open loop a report says how late the generator was', async (t) => {
  const notesOf = (rates: readonly (number | null)[], latenessMs: number | null) =>
    toShardsFindings(shardsMeasurement(rates, latenessMs), readCommandLine([]).optionsFor('')).notes.join(
      '\n',
    );
  t.notMatch(notesOf([null], null), /Open loop|\blate\b|n\/a ms/);
  t.match(notesOf([null], null), /Closed loop: /);
  t.match(notesOf([50], 0.25), /Open loop: .*up to 0\.25 ms late \(p99\)/);
  t.notMatch(notesOf([50], 0.25), /Closed loop: /);
  t.match(notesOf([50], null), /Open loop: .*too few to tell how late/);
});

t.test('a report says which processor it was, what it can and which kernels ran', async (t) => {
  const x86 =
    'vendor_id\t: GenuineIntel\nmodel\t\t: 167\nmodel name\t: A processor\nflags\t\t: fpu avx2 f16c avx512f avx512_vnni\n';
  t.same(processorFacts(x86), {
    processorModel: 'GenuineIntel, model 167',
    instructions: ['avx2', 'f16c', 'avx512f', 'avx512_vnni'],
  });
  const arm = 'Features\t: fp asimd asimddp\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n';
  t.match(processorFacts(arm), {
    processorModel: 'CPU implementer 0x41, CPU part 0xd0c',
    instructions: ['asimd', 'asimddp'],
  });
  t.same(processorFacts(null), { processorModel: null, instructions: [] }, 'a system that does not tell');
  const machine = { ...report.machine, ...processorFacts(x86), kernels: 'avx512', caches: ['L1 48K'] };
  const page = markdownReport({ ...report, machine }, 'shards.svg', null);
  t.match(page, /- A processor \(GenuineIntel, model 167\), 2 cores/);
  t.match(
    page,
    /instructions: avx2 f16c avx512f avx512_vnni; our engine computes with its avx512 kernels; caches: L1 48K/,
  );
});

t.test('a promise is kept, missed or not measured, as the figure beside it says', async (t) => {
  const table = targetTable(
    [
      { what: 'fast', reached: 5, least: 5 },
      { what: 'slow', reached: 4.9, least: 5 },
      { what: 'small', reached: 1, most: 1 },
      { what: 'large', reached: 1.1, most: 1 },
      { what: 'unknown', reached: null, most: 1 },
      { what: 'a little too much', reached: 0.010_04, most: 0.01 },
      { what: 'a little too little', reached: 0.949_99, least: 0.95 },
      { what: 'beyond what is shown of a third', reached: 0.333_36, most: 1 / 3 },
      { what: 'nearly 3', reached: 2.999, most: 3 },
      { what: 'nothing is promised', reached: 7 },
    ],
    2,
  );
  t.same(
    table.rows.map((row) => formatCells(table, row).slice(1).join(' ').trim()),
    [
      ...['5.00 >= 5 reached', '4.90 >= 5 MISSED', '1.00 <= 1 reached', '1.10 <= 1 MISSED'],
      ...['n/a <= 1 not measured', '0.01004 <= 0.01 MISSED', '0.94999 >= 0.95 MISSED'],
      ...['0.3334 <= 0.333 MISSED', '3.00 <= 3 reached', '7.00'],
    ],
    'no figure is rounded to the other side of its bound',
  );
});

t.test('a run that was not what a promise is for shows its figure and is not judged', async (t) => {
  const verdictsFor = listUnmetConditions([
    ['10,000 documents', false],
    ['10 results', true],
    isMeasuredLongEnough({ rounds: 2, seconds: 1 }, 1),
  ]);
  const table = targetTable([{ what: 'CPU', reached: 1.5, most: 1, unmetConditions: verdictsFor }], 2);
  t.same(formatCells(table, table.rows[0]!), [
    ...['CPU', '1.50', '<= 1'],
    'not judged: the promise is for 10,000 documents, at least 3 rounds of 1 s',
  ]);
  t.equal(listUnmetConditions([isMeasuredLongEnough({ rounds: 3, seconds: 1 }, 1)]), null);
});

/** Measured engine with only the given modes and the recall losses under replacement. */
function measuredEngine(name: string, perCpuSecond: number, churned: readonly number[]): MeasuredEngine {
  const figures = { p50Ms: 1, p99Ms: 1, replacedPerSecond: 0, searchesPerSecond: 1 };
  const mode = { ef: 1, recall: 0.95, filter: null, inFlight: 1, isReplacing: false, isLast: false };
  const rounds = [{ ...figures, searchesPerCpuSecond: perCpuSecond }];
  const spent = { wallMs: 1, cpuMs: 1 };
  return {
    ...{ name, version: '1', synchronous: true, curve: [], saved: null, loaded: null },
    built: { ...spent, before: null, after: null, bytesByPart: null },
    modes: [{ ...mode, name: 'recall 0.95', rounds }],
    churned: { ...spent, ef: 1, recalls: churned },
  };
}

t.test('the promises of the engine are judged for 100,000 x 384 vectors only', async (t) => {
  const options = readCommandLine(['--rounds', '3', '--seconds', '0.3']).optionsFor('');
  const losing = Array.from({ length: 11 }, (_, round) => 0.96 - 0.001_004 * round);
  const verdicts = (rows: number, dimensions: number, recalls: readonly number[]) => {
    const set = {
      name: 'own',
      folder: '',
      rows,
      dimensions,
      questions: 1,
      unused: { rows: 0, questions: 0 },
    };
    const engines = [measuredEngine('quarry', 80, recalls), measuredEngine('hnswlib-node', 10, recalls)];
    const table = targetTable(engineTargets({ set, engines, missing: [], leftOut: [] }, options), 2);
    const cells = table.rows.map((row) => formatCells(table, row));
    return [cells[0], cells.at(-1)].map((row) => row?.slice(1).join(' '));
  };
  t.same(verdicts(100_000, 384, losing), ['8.00 >= 7 reached', '0.01004 <= 0.01 MISSED']);
  t.same(verdicts(100_000, 384, losing.slice(0, 4)), [
    '8.00 >= 7 reached',
    '0.00 <= 0.01 not judged: the promise is for 10 rounds of replacing',
  ]);
  for (const [rows, dimensions] of [
    [20_000, 384],
    [100_000, 128],
  ] as const) {
    t.same(verdicts(rows, dimensions, losing), [
      '8.00 >= 7 not judged: the promise is for 100,000 x 384 vectors',
      '0.01004 <= 0.01 not judged: the promise is for 100,000 x 384 vectors',
    ]);
  }
});

t.test(
  'the page holds everything itself: tables, charts and the comparison, and loads nothing',
  async (t) => {
    const before = {
      ...report,
      figures: [{ name: 'speed', unit: 'q/s', better: 'more' as const, values: [10, 11] }],
    };
    const after = {
      ...report,
      figures: [{ name: 'speed', unit: 'q/s', better: 'more' as const, values: [5, 6] }],
    };
    const page = htmlReport('Page', [{ report: after, comparison: compareReports(before, after) }]);
    t.notMatch(page, /<script|<link|<img|url\(|https?:\/\/(?!www\.w3\.org\/2000\/svg)/);
    for (const word of [
      '<svg ',
      'A &lt;b&gt;',
      'REGRESSION',
      'speed',
      'Note.',
      '12,345.7',
      '<code>npm run bench',
    ]) {
      t.ok(page.includes(word), word);
    }
  },
);
