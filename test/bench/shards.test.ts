import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import type { Report } from '../../bench/report/findings.ts';

const bench = fileURLToPath(new URL('../../bench/main.js', import.meta.url));

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function run(words: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    // Without NODE_OPTIONS: the test runner would load itself into every process of the bench.
    execFile('env', ['-u', 'NODE_OPTIONS', process.execPath, bench, ...words], (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, err });
    });
  });
}

const small =
  '--documents 40 --words 60 --questions 20 --seconds 0.3 --warm-up 0.1 --rounds 2 --connections 2';

t.test(
  'the case "shards" measures every shard count over HTTP and writes JSON, a table and a plot',
  async (t) => {
    const folder = t.testdir();
    const ended = await run(['shards', ...small.split(' '), '--shards', '1,8', '--out', folder]);
    t.equal(ended.code, 0, ended.err);
    t.same((await readdir(folder)).toSorted(), ['shards.html', 'shards.json', 'shards.md', 'shards.svg']);

    const report = JSON.parse(await readFile(join(folder, 'shards.json'), 'utf8')) as Report;
    const rows = report.tables[1]?.rows ?? [];
    t.same(
      rows.map((row) => row.shards),
      [1, 8],
    );
    for (const row of rows) {
      t.ok(Number(row.queriesPerSecond) > 0, `${row.shards} shards answered queries`);
      t.ok(
        Number(row.p50Ms) > 0 && Number(row.mostMs) >= Number(row.p50Ms),
        `${row.shards} shards have latencies`,
      );
      t.ok(Number(row.agreement) > 50, `${row.agreement} % of the documents are the same`);
    }
    t.equal(rows[0]?.throughputRatio, 1, 'the peer is once as fast as itself');
    t.equal(rows[0]?.agreement, 100);
    t.type(rows[1]?.throughputRatio, 'number');
    t.ok(Number(report.tables[0]?.rows[0]?.median) > 0, 'documents went in');
    t.match(report.notes.join('\n'), /generator's ceiling: [\d,]+ requests\/s/);
    t.match(report.machine, { cores: Number, processor: String, node: process.versions.node });

    const page = await readFile(join(folder, 'shards.md'), 'utf8');
    t.match(page, /\| shards \| throughput \[queries\/s\] \|/);
    const svg = await readFile(join(folder, 'shards.svg'), 'utf8');
    t.match(svg, /^<svg .*<\/svg>\n$/s);
  },
);

t.test('help lists the cases; an unknown case names the known ones and changes nothing', async (t) => {
  const help = await run(['--help']);
  t.equal(help.code, 0);
  t.match(help.out, /Cases:\n {2}engine [\s\S]*\n {2}shards /);
  const unknown = await run(['shard']);
  t.equal(unknown.code, 2);
  t.match(unknown.err, /no case "shard"\. Cases: engine, .*shards/);
});
