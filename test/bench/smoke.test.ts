import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeVectorFile } from '../../bench/vectors/vector-file.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { readReport, runBench, spawnBench } from './bench-process.ts';

// Other tests may be using the machine.
t.setTimeout(testFileMsMax);

t.test('a canary that is four times slower is reported as a regression', async (t) => {
  const folder = t.testdir();
  const first = await runBench(['canary', '--smoke', '--out', join(folder, 'a')]);
  t.equal(first.code, 0, first.err);
  const old = join(folder, 'a', 'canary.json');
  const slower = await runBench([
    'canary',
    '--smoke',
    '--handicap',
    '4',
    '--compare',
    old,
    '--out',
    join(folder, 'b'),
  ]);
  t.equal(slower.code, 4, 'the exit code reports the regression');
  t.match(slower.out, /\| REGRESSION \| canary: CPU time per MiB/);
  t.match(await readFile(join(folder, 'b', 'canary.html'), 'utf8'), /REGRESSION/);
  const again = await runBench([
    'compare',
    join(folder, 'b', 'canary.json'),
    join(folder, 'b', 'canary.json'),
  ]);
  t.equal(again.code, 0, 'a run is not a regression of itself');
  const page = join(folder, 'a', 'canary.html');
  const rendered = await readFile(page, 'utf8');
  await writeFile(page, 'an earlier rendering');
  t.equal((await runBench(['render', old])).code, 0);
  t.equal(await readFile(page, 'utf8'), rendered, 'the figures are rendered again without another run');
  t.match(await runBench(['render', join(folder, 'b', 'canary.json')]), { code: 2, err: /earlier run/ });
  const wrong = await runBench([
    'canary',
    '--smoke',
    '--compare',
    join(folder, 'b', 'canary.md'),
    '--out',
    folder,
  ]);
  t.not(wrong.code, 0);
});

t.test('help lists the cases; an unknown case names the known ones and changes nothing', async (t) => {
  const help = await runBench(['--help']);
  t.equal(help.code, 0);
  t.match(help.out, /Cases:\n {2}engine [\s\S]*\n {2}shards /);
  const peers = await runBench(['peers']);
  t.equal(peers.code, 0);
  t.match(
    peers.out,
    /^quarry +\d.*\nhnswlib-node +hnswlib-node 3\.0\.0\n/,
    'the available engines are listed',
  );
  t.match(peers.out, /\nquarry \(avx2\) +(\d.*kernels avx2|not available: .*avx2)\n/);
  const unknown = await runBench(['shard']);
  t.equal(unknown.code, 2);
  t.match(unknown.err, /Unknown case "shard"\. Cases: engine, .*shards/);
});

t.test('an engine run has the selected phases and numbers of results', async (t) => {
  const folder = t.testdir();
  const small = '--smoke --rounds 1 --engines quarry --k 10,20 --phases curve,filters'.split(' ');
  const ended = await runBench(['engine', ...small, '--out', folder]);
  t.equal(ended.code, 0, ended.err);
  const { tables, figures, complete } = await readReport(folder, 'engine');
  t.equal(complete, true);
  const titles = tables.map(({ title }) => title);
  for (const title of ['Searches at recall 0.99', 'Searches at recall 0.99, k 20'])
    t.ok(titles.includes(title), title);
  t.equal(titles.filter((title) => title.startsWith('Searches with a filter')).length, 2);
  const names = figures.map(({ name }) => name).join('\n');
  t.match(names, /recall, filter 10 %, k 20/);
  t.notMatch(names, /inserting|replacing|load/);
});

t.test('an interrupted engine run writes the results so far', async (t) => {
  const folder = t.testdir();
  const words = '--smoke --engines quarry --rounds 100 --seconds 5 --phases curve'.split(' ');
  const child = spawnBench(['engine', ...words, '--out', folder]);
  await child.printed(/measuring/);
  child.kill('SIGTERM');
  t.equal(await child.exited, 130);
  const { tables, complete } = await readReport(folder, 'engine');
  t.equal(complete, false);
  const built = tables.find(({ title }) => title.startsWith('Building'));
  t.ok(Number(built?.rows[0]?.rate) > 0, 'the measurements of the build are kept');
  t.match(await readFile(join(folder, 'engine.md'), 'utf8'), /INCOMPLETE/);
});

t.test(
  'vectors of a file are measured, the last ones are held out as questions, and a missing peer is named',
  async (t) => {
    const folder = t.testdir();
    const own = join(folder, 'own.npy');
    const [rows, dimensions] = [1_300, 12];
    const values = Float32Array.from({ length: rows * dimensions }, (_, i) => Math.sin(i * i) + 2);
    await writeVectorFile(own, { rows, dimensions }, [values]);
    const measured = async (more: string) => {
      const words = `engine --smoke --seconds 0.02 --rounds 1 --questions 20 ${more}`.split(' ');
      const ended = await runBench([...words, '--vectors-file', own, '--out', folder]);
      t.equal(ended.code, 0, ended.err);
      const report = await readReport(folder, 'engine');
      return { report, said: ended.err };
    };
    const limited = await measured('--vectors 200 --engines quarry');
    t.match(limited.report.title, / 200 vectors of 12 dimensions/);
    t.match(limited.said, /only the first 200 vectors of the file are used, 1080 are not/);
    t.match(limited.report.method.join('\n'), /NOT USED of the file: its further 1,080 rows/);
    t.match(
      limited.report.notes.join('\n'),
      /NOT SELECTED .*hnswlib-node/,
      'engines that were not selected are named',
    );
    const { report, said: output } = await measured('--engines quarry,pgvector');
    t.match(report.title, / 1,280 vectors of 12 dimensions/, 'all rows, regardless of the size of the run');
    t.notMatch(output, /are not/);
    t.match(report.notes.join('\n'), /NOT MEASURED: pgvector/);
    const found = report.tables.find(({ title }) => title === 'Searches at recall 0.95')?.rows[0];
    t.ok(
      Number(found?.recall) >= 0.95,
      `rows of other lengths are scaled to length 1: recall ${found?.recall}`,
    );
  },
);
