import { Parser } from 'htmlparser2';
import t from 'tap';
import type { Chart, Report } from '../../bench/report/findings.ts';
import { markdownReport } from '../../bench/report/markdown.ts';
import { axisTicks, svgCharts } from '../../bench/report/svg.ts';

const charts: readonly Chart[] = [
  {
    title: 'Throughput <of> "A & B"',
    xLabel: 'shards',
    x: [1, 8, 64],
    yLabel: 'queries per second',
    series: [
      { name: 'q/s', values: [2_000, null, 1_000], spread: [{ least: 1_900, most: 2_300 }, null, null] },
    ],
  },
  {
    title: 'Latency',
    xLabel: 'shards',
    x: [1, 8, 64],
    yLabel: 'latency [ms]',
    series: [
      { name: 'p50', values: [0.5, 0.7, 3] },
      { name: 'p99', values: [null, null, null] },
    ],
  },
];

interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** Elements and text of an XML document; throws when a tag is not closed where it must be. */
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
  const wanted = [
    ...['Title & more', 'Throughput <of> "A & B"', 'Latency', 'shards', 'queries per second', 'latency [ms]'],
    ...['p50', 'p99', '2,000', '64'],
  ];
  for (const word of wanted) t.ok(words.includes(word), word);
  t.match(svg, /prefers-color-scheme: dark/);
});

t.test('a gap stays a gap', async (t) => {
  const { elements } = parseXml(svgCharts('x', charts));
  t.equal(
    elements.filter(({ name }) => name === 'circle').length,
    2 + 3 + 1,
    'two points, three points, one legend',
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

t.test('ticks are round, start at 0 and reach the largest value', async (t) => {
  t.same(axisTicks(0), [0, 1]);
  t.same(axisTicks(10), [0, 2, 4, 6, 8, 10]);
  t.same(axisTicks(0.31), [0, 0.1, 0.2, 0.3, 0.4]);
  t.same(axisTicks(2_300), [0, 500, 1_000, 1_500, 2_000, 2_500]);
  for (const most of [1e-4, 0.07, 1, 3.3, 49, 51, 99_999, 1.2e7]) {
    const ticks = axisTicks(most);
    t.ok(
      ticks[0] === 0 && (ticks.at(-1) ?? 0) >= most * 0.999999 && ticks.length <= 7,
      `${most}: ${ticks.join(' ')}`,
    );
  }
});

const report: Report = {
  format: 1,
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
  columns: [
    { key: 'axis', heading: 'a|b', unit: null, digits: 0 },
    { key: 'rate', heading: 'throughput', unit: 'queries/s', digits: 1 },
  ],
  rows: [
    { axis: 1, rate: 12_345.67 },
    { axis: 8, rate: null },
  ],
  charts,
  notes: ['Note.'],
  measured: null,
};

t.test(
  'the table has a cell for every column, units in the heading, and n/a for what is not known',
  async (t) => {
    const page = markdownReport(report, 'shards.svg');
    const lines = page.split('\n').filter((line) => line.startsWith('|'));
    t.same(lines, [
      '| a\\|b | throughput [queries/s] |',
      '| ---: | ---: |',
      '| 1 | 12,345.7 |',
      '| 8 | n/a |',
    ]);
    for (const word of ['![Title](shards.svg)', 'How.', 'Note.', 'A processor', 'npm run bench -- shards']) {
      t.ok(page.includes(word), word);
    }
  },
);
