import t from '../support/tap.ts';
import { TapDigest } from './tap-digest.ts';

function digest(lines: readonly string[]) {
  const output: string[] = [];
  const tapDigest = new TapDigest((line) => void output.push(line));
  lines.forEach((line) => {
    tapDigest.line(line);
  });
  return { output, totals: tapDigest.totals, summary: tapDigest.summary(61.4) };
}

t.test('totals equal those of tap, and the output of a failed file is complete', async (t) => {
  const { output, totals } = digest([
    'TAP version 14',
    '# Subtest: dist/test/a.test.js',
    '    ok 1 - fine',
    'ok 1 - dist/test/a.test.js # time=6ms',
    '# Subtest: dist/test/b.test.js',
    '    not ok 1 - broken',
    'not ok 2 - dist/test/b.test.js # time=6ms',
    '# { total: 5, pass: 2, fail: 1, skip: 2 }',
  ]);
  t.same(totals, { passed: 2, failed: 1, skipped: 2 });
  t.same(output, [
    'ok 1 - dist/test/a.test.js # time=6ms',
    '# Subtest: dist/test/b.test.js',
    '    not ok 1 - broken',
    'not ok 2 - dist/test/b.test.js # time=6ms',
  ]);
});

t.test('a run that was killed, ran no tests or crashed in a file is a failure', async (t) => {
  t.same(digest([]).totals, { passed: 0, failed: 1, skipped: 0 });
  t.same(digest(['ok 1 - a.test.js']).totals, { passed: 0, failed: 1, skipped: 0 });
  t.same(digest(['# { total: 0, pass: 0 }']).totals, { passed: 0, failed: 1, skipped: 0 });
  t.same(digest(['not ok 1 - crashed.test.js', '# { total: 3, pass: 3 }']).totals, {
    passed: 3,
    failed: 1,
    skipped: 0,
  });
});

t.test('the last lines list the failed tests with their files, and the totals', async (t) => {
  const { summary } = digest([
    '# Subtest: dist/test/a.test.js',
    '    ok 1 - fine',
    'ok 1 - dist/test/a.test.js # time=6ms',
    '# Subtest: dist/test/b.test.js',
    '    # Subtest: what is added is found',
    '        # Subtest: at once',
    '            not ok 1 - should be equal',
    '            not ok 2 - should match',
    '        not ok 1 - at once',
    '    not ok 1 - what is added is found # time=3ms',
    '    not ok 2 - known to fail # todo',
    'not ok 2 - dist/test/b.test.js # time=6ms',
    '# Subtest: dist/test/c.test.js',
    'not ok 3 - dist/test/c.test.js # time=6ms',
    '# { total: 1205, pass: 1200, fail: 2, todo: 1, skip: 2 }',
  ]);
  t.same(summary, [
    'Failed tests:',
    '  dist/test/b.test.js: what is added is found > at once > should be equal',
    '  dist/test/c.test.js: failed outside of its tests (see its lines above)',
    '1,200 passed, 2 failed, 3 skipped in 3 files (61 s)',
  ]);
  t.same(digest(['ok 1 - a.test.js', '# { total: 3, pass: 3 }']).summary, [
    'All tests passed: 3 passed, 0 failed, 0 skipped in 1 file (61 s)',
  ]);
  t.match(digest(['ok 1 - a.test.js']).summary, ['Failed tests:', '  the run ended before its last test']);
});

t.test('files that share a process are counted and reported like others', async (t) => {
  const shared = [
    '# Subtest: dist/test/core, 2 files',
    '    # Subtest: dist/test/core/a.test.js',
    '        ok 1 - fine',
    '    ok 1 - dist/test/core/a.test.js # time=6ms',
    '    # Subtest: dist/test/core/b.test.js',
    '        # Subtest: it works',
    '            not ok 1 - should be equal',
    '        not ok 1 - it works',
    '    not ok 2 - dist/test/core/b.test.js # time=6ms',
    'not ok 1 - dist/test/core, 2 files # time=12ms',
  ];
  const passed = ['    ok 1 - dist/test/text/a.test.js', 'ok 2 - dist/test/text, 1 file'];
  const crashed = ['not ok 3 - dist/test/auth, 2 files', '# { total: 3, pass: 2, fail: 1 }'];
  const { output, totals, summary } = digest([...shared, ...passed, ...crashed]);
  t.same(totals, { passed: 2, failed: 2, skipped: 0 });
  t.same(summary, [
    'Failed tests:',
    '  dist/test/core/b.test.js: it works > should be equal',
    '  dist/test/auth, 2 files: failed outside of its tests (see its lines above)',
    '2 passed, 2 failed, 0 skipped in 3 files (61 s)',
  ]);
  t.ok(output.includes('ok 1 - dist/test/text/a.test.js'), 'a line per file');
});
