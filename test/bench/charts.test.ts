import { Parser } from 'htmlparser2';
import type { Chart } from '../../bench/report/findings.ts';
import { htmlReport } from '../../bench/report/html.ts';
import { createScale, linearTicks } from '../../bench/report/scales.ts';
import { assignStyles } from '../../bench/report/styles.ts';
import { svgCharts } from '../../bench/report/svg.ts';
import t from '../support/tap.ts';
import { at, charts, report, shards } from './sample-report.ts';

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

t.test('titles, axes with units, series and values are readable in light and dark', async (t) => {
  const svg = svgCharts('Title & more', charts);
  const { words } = parseXml(svg);
  const expected = [
    ...['Title & more', 'Throughput <of> "A & B"', 'Latency', 'shards', 'queries per second', 'latency [ms]'],
    ...['p50', 'p99', '2,000', '64', 'ours', '520', 'n/a', '0.5', '500'],
  ];
  for (const word of expected) t.ok(words.includes(word), word);
  t.match(svg, /prefers-color-scheme: dark/);
});

t.test('a missing value is a gap in the line', async (t) => {
  const { elements } = parseXml(svgCharts('x', charts));
  t.equal(elements.filter(({ name }) => name === 'circle').length, 2, 'two points of the first series');
  t.equal(
    elements.filter(({ name, attributes }) => name === 'rect' && attributes.width === '8').length,
    3 + 1,
    'three points of the second series, and its legend',
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

t.test(
  'a name has the same style in every chart of a page, and different names of a chart have different styles',
  async (t) => {
    const lines = (names: readonly string[]): Chart => ({
      kind: 'lines',
      title: names.join(),
      x: shards,
      y: shards,
      series: names.map((name) => ({ name, points: [at(1, 1), at(8, 2)] })),
    });
    const engines = 'quarry,hnswlib-node,hnswlib (native),usearch,sqlite-vec,lancedb'.split(',');
    const page: readonly Chart[] = [
      lines(engines),
      lines(engines.filter((name) => name !== 'usearch')),
      { kind: 'bars', title: 'Memory', yLabel: '', bars: [{ name: 'lancedb', value: 1 }] },
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
    t.equal(`s${bar}`, styles[0]!.get('lancedb'), 'bars have the same styles');
    t.ok(!new Set(styles[0]!.values()).has(styles[3]!.get('p50')!), 'unused line styles are assigned first');
    const html = htmlReport('Page', [
      { report: { ...report, charts: [lines(['p50', 'p90'])] }, comparison: null },
      { report: { ...report, case: 'engine', charts: page }, comparison: null },
    ]);
    const [first, ...others] = seriesStylesOf(html);
    t.equal(others.at(-1)!.get('p90'), first!.get('p90'), 'also across the cases of the page');
    t.equal(
      assignStyles([lines(Array.from({ length: 20 }, (_, i) => `${i}`))]).size,
      20,
      'more names than styles',
    );
  },
);

t.test('a legend has space for long and many names above the plot', async (t) => {
  const names = [50, 100].flatMap((rate) =>
    [1, 8, 32].flatMap((clients) => [1_000, 10_000].map((size) => `${size} d, ${clients} c, ${rate}/s`)),
  );
  const chart: Chart = {
    kind: 'lines',
    title: 'Throughput',
    x: shards,
    y: shards,
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
  t.equal(
    Number(elements[0]?.attributes.height),
    2 * (360 + plotTop),
    'the height of the picture grows by the same amount',
  );
});

t.test('a recall axis spreads values near 1 and includes 1', async (t) => {
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

t.test('linear ticks are round numbers and cover the smallest to the largest value', async (t) => {
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

t.test(
  'a logarithmic axis has equal distances for equal ratios, and its ticks cover the values',
  async (t) => {
    const { ticks, position: share } = createScale({ label: '', scale: 'logarithmic' }, [300, 60_000], true);
    t.same(
      ticks.map(({ label }) => label),
      ['200', '500', '1,000', '2,000', '5,000', '10,000', '20,000', '50,000', '100,000'],
    );
    t.equal(share(200), 0);
    t.equal(share(100_000), 1);
    t.ok(Math.abs(share(2_000) - share(200) - (share(20_000) - share(2_000))) < 1e-9);
  },
);
