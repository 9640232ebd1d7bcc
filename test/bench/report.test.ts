import { processorFacts } from '../../bench/harness/machine.ts';
import { compareReports } from '../../bench/report/compare.ts';
import { htmlReport } from '../../bench/report/html.ts';
import { markdownReport } from '../../bench/report/markdown.ts';
import t from '../support/tap.ts';
import { report } from './sample-report.ts';

t.test(
  'the table has a cell for every column, units in the heading, and n/a for unknown values',
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

t.test('a report names the processor, its instruction sets and the kernels in use', async (t) => {
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
  t.same(
    processorFacts(null),
    { processorModel: null, instructions: [] },
    'a system without processor information',
  );
  const machine = { ...report.machine, ...processorFacts(x86), kernels: 'avx512', caches: ['L1 48K'] };
  const page = markdownReport({ ...report, machine }, 'shards.svg', null);
  t.match(page, /- A processor \(GenuineIntel, model 167\), 2 cores/);
  t.match(
    page,
    /instructions: avx2 f16c avx512f avx512_vnni; Quarry uses its avx512 kernels; caches: L1 48K/,
  );
});

t.test('the report of an interrupted run is marked as incomplete', async (t) => {
  const partial = { ...report, complete: false };
  t.match(markdownReport(partial, 'a.svg', null), /\n\*\*INCOMPLETE: the run was interrupted/);
  t.match(htmlReport('Page', [{ report: partial, comparison: null }]), /class="bad">INCOMPLETE: /);
  t.notMatch(markdownReport({ ...report, complete: true }, 'a.svg', null), /INCOMPLETE/);
});

t.test('the page contains tables, charts and the comparison, and loads nothing', async (t) => {
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
});
