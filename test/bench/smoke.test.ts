import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import type { Report } from '../../bench/report/findings.ts';

// The machine may be busy with other tests.
t.setTimeout(200_000);

const bench = fileURLToPath(new URL('../../bench/main.js', import.meta.url));

function run(words: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  return new Promise((resolve) => {
    // Without NODE_OPTIONS: the test runner would load itself into every process of the bench.
    execFile('env', ['-u', 'NODE_OPTIONS', process.execPath, bench, ...words], (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, err });
    });
  });
}

t.test('every case runs small and says what it measured', async (t) => {
  const folder = t.testdir();
  const ended = await run(['all', '--smoke', '--out', folder]);
  t.equal(ended.code, 0, ended.err);
  const page = await readFile(join(folder, 'bench.html'), 'utf8');
  const names = [...page.matchAll(/<section id="(\w+)">/g)].map(([, name]) => name ?? '');
  t.ok(names.includes('engine') && names.includes('shards') && names.includes('canary'), names.join(' '));
  for (const name of names) {
    const report = JSON.parse(await readFile(join(folder, `${name}.json`), 'utf8')) as Report;
    t.equal(report.case, name);
    t.ok(report.figures.length > 0, `${name} has figures to compare`);
    for (const { name: figure, values } of report.figures) {
      t.ok(
        values.length > 0 && values.every((value) => Number.isFinite(value) && value >= 0),
        `${figure}: ${values.join(' ')}`,
      );
    }
    t.ok(report.tables.every(({ rows }) => rows.length > 0));
    t.ok(
      report.method.length > 0 && report.notes.length > 0,
      `${name} says how it measured and how to read it`,
    );
  }
});

t.test('a canary that got four times slower is called a regression', async (t) => {
  const folder = t.testdir();
  const first = await run(['canary', '--smoke', '--out', join(folder, 'a')]);
  t.equal(first.code, 0, first.err);
  const old = join(folder, 'a', 'canary.json');
  const slower = await run([
    'canary',
    '--smoke',
    '--handicap',
    '4',
    '--compare',
    old,
    '--out',
    join(folder, 'b'),
  ]);
  t.equal(slower.code, 4, 'the exit code says so');
  t.match(slower.out, /\| REGRESSION \| canary: CPU time per MiB/);
  t.match(await readFile(join(folder, 'b', 'canary.html'), 'utf8'), /REGRESSION/);
  const again = await run(['compare', join(folder, 'b', 'canary.json'), join(folder, 'b', 'canary.json')]);
  t.equal(again.code, 0, 'a run is no worse than itself');
  const wrong = await run([
    'canary',
    '--smoke',
    '--compare',
    join(folder, 'b', 'canary.md'),
    '--out',
    folder,
  ]);
  t.not(wrong.code, 0);
});
