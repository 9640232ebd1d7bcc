import { compareReports, findRegressions } from '../../bench/report/compare.ts';
import type { Figure, Report } from '../../bench/report/findings.ts';
import t from '../support/tap.ts';

function report(figures: readonly Figure[], parts: Partial<Report> = {}): Report {
  return {
    format: 2,
    case: 'canary',
    title: '',
    startedAt: '2026-01-02T03:04:05.678Z',
    command: '',
    options: { vectors: 100, out: 'a' },
    machine: {
      processor: 'A processor',
      cores: 2,
      memoryBytes: 8e9,
      system: 'linux',
      node: '20.0.0',
      quarry: '0.1.0',
      commit: 'abc',
      loadBefore: 0,
      loadAfter: 0,
    },
    method: [],
    tables: [],
    charts: [],
    notes: [],
    figures,
    measured: null,
    ...parts,
  };
}

const speed = (values: readonly number[]): Figure => ({ name: 'speed', unit: 'q/s', better: 'more', values });
const latency = (values: readonly number[]): Figure => ({ name: 'p99', unit: 'ms', better: 'less', values });

const recall = (value: number): Figure => ({
  name: 'quarry: recall',
  unit: 'share',
  better: 'more',
  values: [value],
});

const verdicts: readonly (readonly [title: string, before: Figure, after: Figure, verdict: string])[] = [
  ['half the speed', speed([100, 104, 98]), speed([50, 52, 49]), 'worse'],
  ['twice the speed', speed([50, 52, 49]), speed([100, 104, 98]), 'better'],
  ['a higher latency', latency([1, 1.1, 1.2]), latency([2, 2.1, 2.2]), 'worse'],
  ['a lower latency', latency([2, 2.1, 2.2]), latency([1, 1.1, 1.2]), 'better'],
  ['rounds that overlap', speed([100, 60, 110]), speed([70, 72, 65]), 'same'],
  ['a difference of 3 %', speed([100, 100.1, 99.9]), speed([97, 97.1, 96.9]), 'same'],
  ['one value each, 10 % apart', speed([100]), speed([90]), 'same'],
  ['one value each, 20 % apart', speed([100]), speed([80]), 'worse'],
  ['a recall that fell by .13', recall(0.99), recall(0.86), 'worse'],
  ['a recall that rose by .02', recall(0.97), recall(0.99), 'better'],
  ['a recall that fell by .005', recall(0.99), recall(0.985), 'same'],
];

t.test('figures that an interrupted run lacks are not measured, not lost', async (t) => {
  const before = report([speed([10, 11, 12]), latency([1, 1, 1])]);
  const after = report([speed([10, 11])], { complete: false });
  const comparison = compareReports(before, after);
  t.same(findRegressions(comparison), []);
  t.match(comparison.warnings, [/was interrupted/]);
  t.equal(compareReports(before, report([speed([10, 11])])).changes[1]?.verdict, 'lost');
});

t.test('a figure is worse or better only beyond the noise of its rounds', async (t) => {
  for (const [title, before, after, verdict] of verdicts) {
    t.equal(compareReports(report([before]), report([after])).changes[0]?.verdict, verdict, title);
  }
});

const verdictsOf = (before: Report, after: Report) =>
  compareReports(before, after).changes.map(({ name, verdict }) => [name, verdict]);

t.test('a lost figure is a regression, a new figure is not', async (t) => {
  const [before, after] = [report([speed([1, 1])]), report([latency([1, 1])])];
  t.same(verdictsOf(before, after), [
    ['speed', 'lost'],
    ['p99', 'new'],
  ]);
  t.same(
    findRegressions(compareReports(before, after)).map(({ name }) => name),
    ['speed'],
  );
});

t.test('figures of an engine that the new run did not measure cause a warning', async (t) => {
  const before = report([recall(0.99), { ...recall(0.99), name: 'quarry f32: recall' }]);
  const after = report([], { notMeasured: ['quarry', 'usearch'] });
  t.same(verdictsOf(before, after), [
    ['quarry: recall', 'not measured'],
    ['quarry f32: recall', 'lost'],
  ]);
  t.same(compareReports(before, after).warnings, ['not measured in the new run: quarry']);
});

t.test('differences of machine, settings and client are reported; the output folder is not', async (t) => {
  const before = report([]);
  const after = report([], {
    options: { vectors: 200, out: 'b' },
    machine: { ...before.machine, cores: 8 },
  });
  t.same(compareReports(before, after).warnings, [
    'machine: cores differs: was 2, is 8',
    'setting: vectors differs: was 100, is 200',
  ]);
  const kernels = (name: string) => report([], { machine: { ...before.machine, kernels: name } });
  t.same(compareReports(kernels('avx512'), kernels('avx2')).warnings, [
    'machine: kernels differs: was avx512, is avx2',
  ]);
  t.same(compareReports(before, kernels('avx2')).warnings, [], 'an older report does not name the client');
  const client = (name: string) => report([], { conditions: { client: name } });
  t.same(compareReports(client('wrk 4.1.0'), client('own')).warnings, [
    'client differs: was wrk 4.1.0, is own',
  ]);
  t.same(compareReports(before, client('own')).warnings, ['client differs: was unknown, is own']);
  t.same(compareReports(before, before).warnings, []);
});
