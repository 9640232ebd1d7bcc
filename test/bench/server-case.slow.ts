import { join } from 'node:path';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { readReport, runBench } from './bench-process.ts';
import { writeJudgedFolder } from './judged-folder.ts';

/** Options of the case "server" that start a server for each row: 8 s of CPU time. */

t.setTimeout(testFileMsMax);

t.test('calls are measured on real text, with their ceiling and their stages', async (t) => {
  const folder = t.testdir();
  await writeJudgedFolder(join(folder, 'set'), 30);
  const small = '--smoke --rounds 1 --seconds 0.2 --connections 1,2 --cpu-profile'.split(' ');
  const calls = ['snippets', 'pages', 'filtered'];
  const words = ['server', '--judged', join(folder, 'set'), '--calls', calls.join(','), ...small];
  const ended = await runBench([...words, '--out', folder]);
  t.equal(ended.code, 0, ended.err);
  const { tables, method, complete } = await readReport(folder, 'server');
  t.equal(complete, true);
  t.match(method.join('\n'), /Corpus: `set`: 30 documents/);
  const rowsOf = (title: RegExp) => tables.find((table) => title.test(table.title))?.rows ?? [];
  const queries = rowsOf(/^Queries/);
  t.same(
    queries.map(({ call, connections }) => [call, connections]),
    [1, 2].flatMap((connections) => calls.map((call) => [call, connections])),
  );
  t.ok(queries.every(({ replyBytes }) => Number(replyBytes) > 100));
  const ceilings = rowsOf(/^Ceiling/);
  t.equal(ceilings.length, 6);
  t.ok(ceilings.every(({ nodeRate, ratio }) => Number(nodeRate) > 0 && Number(ratio) > 0));
  t.same(
    rowsOf(/^Stages/).map(({ call, embed }) => [call, Number(embed) >= 0]),
    calls.map((call) => [call, true]),
  );
  for (const { call, http: _, cpu: __, ...shares } of rowsOf(/^CPU of a query/)) {
    const values = Object.values(shares);
    // Unknown without /proc, and if a loaded machine gave the server no time for a sample.
    if (values.includes(null)) continue;
    const sum = values.reduce<number>((total, share) => total + Number(share), 0);
    t.ok(Math.abs(sum - 100) < 0.1, `${call}: the shares are ${sum} % together`);
  }
});

t.test('with a slow model the report shows the share of the cores that the model used', async (t) => {
  const folder = t.testdir();
  const small = '--smoke --http uws --model-ms 1 --rounds 1 --rate 20 --seconds 0.1'.split(' ');
  const ended = await runBench(['server', ...small, '--out', folder]);
  t.equal(ended.code, 0, ended.err);
  const { tables } = await readReport(folder, 'server');
  t.match(tables[0]?.rows[0], {
    metric: /with a model of [\d.]+ ms, as a share of the capacity of \d+ cores?/,
    wanted: '>= 95',
    reached: Number,
    verdict: /^not judged: .*, a model of 3 ms$/,
  });
  const [closed] = tables[1]?.rows ?? [];
  const busy = (Number(closed?.runs) * Number(closed?.ms)) / 1_000;
  // On a loaded machine no query may end within the measured tenth of a second.
  t.ok(Math.abs(Number(closed?.busy) - busy) < 1e-9, 'runs per second multiplied by their duration');
  t.ok(Number(closed?.ms) > 0, 'the duration of one run');
});
