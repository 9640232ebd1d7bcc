import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from '../support/tap.ts';
import { readReport, runBench } from './bench-process.ts';

t.setTimeout(1_800_000);

const caseNames =
  'accounts boundary canary disk engine ingest lexical parsing passages pipeline relevance server shards startup'.split(
    ' ',
  );

/** Cases with performance targets. */
const casesWithTargets = 'boundary disk engine ingest lexical parsing pipeline server shards startup'.split(
  ' ',
);

/** Output folder of the run of all cases, used by later tests. */
const smokeFolder = t.testdir();

t.test('every case runs with --smoke and reports its measurements', async (t) => {
  const folder = smokeFolder;
  const ended = await runBench(['all', '--smoke', '--out', folder]);
  t.equal(ended.code, 0, ended.err);
  const page = await readFile(join(folder, 'bench.html'), 'utf8');
  const names = [...page.matchAll(/<section id="(\w+)">/g)].map(([, name]) => name ?? '');
  const listed = /Cases:\n([\s\S]*?)\n\n/.exec((await runBench(['--help'])).out)?.[1] ?? '';
  const cases = [...listed.matchAll(/^ {2}(\w+)/gm)].flatMap(([, name = '']) => (name === 'all' ? [] : name));
  t.same(names.toSorted(), cases.toSorted(), 'the case runs all cases that the help lists');
  t.same(
    caseNames.filter((name) => !names.includes(name)),
    [],
    'no case is missing',
  );
  for (const name of names) {
    const report = await readReport(folder, name);
    t.equal(report.case, name);
    t.ok(report.figures.length > 0, `${name} has figures to compare`);
    for (const { name: figure, values } of report.figures) {
      t.ok(
        values.length > 0 && values.every((value) => Number.isFinite(value) && value >= 0),
        `${figure}: ${values.join(' ')}`,
      );
    }
    t.match(
      await readFile(join(folder, `${name}.md`), 'utf8'),
      /^# .*\n[\s\S]*\n\| ---|^# .*\n[\s\S]*\n\| :---/,
    );
    t.ok(report.tables.every(({ rows }) => rows.length > 0));
    if (casesWithTargets.includes(name)) {
      t.equal(report.tables[0]?.title, 'Targets', name);
      const verdicts = report.tables[0]?.rows.map(({ verdict }) => String(verdict)) ?? [];
      t.ok(
        verdicts.some((verdict) => verdict.startsWith('not judged: the target is for ')),
        `${name} judges no target in a small run`,
      );
      if (name !== 'parsing')
        t.same(
          verdicts.filter((verdict) => /^(reached|MISSED)$/.test(verdict)),
          [],
          name,
        );
    }
    t.ok(
      report.method.length > 0 && report.notes.length > 0,
      `${name} explains how it measured and how to read the report`,
    );
  }
});

t.test(
  'the case "shards" shows the cost of adding documents and of a query for every shard count',
  async (t) => {
    const report = await readReport(smokeFolder, 'shards');
    const [targets, ingest, load] = report.tables;
    t.match(targets?.rows[0], {
      metric: /8 shards relative to one/,
      reached: Number,
      verdict: /^not judged: the target is for 10,000 documents, 300 words each, /,
    });
    t.same(
      targets?.rows.slice(1).map(({ verdict }) => verdict),
      ['not measured', 'not measured', 'not measured'],
      'a target for shard counts that were not measured is neither reached nor missed',
    );
    t.ok(Number(ingest?.rows[0]?.median) > 0, 'documents were added');
    const rows = load?.rows ?? [];
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
      t.equal(row.strategy, 'scan', 'forty documents are scanned');
      t.ok(Number(row.agreement) > 50, `${row.agreement} % of the documents are the same`);
    }
    t.equal(rows[0]?.throughputRatio, 1, 'the ratio of the peer to itself is 1');
    const notes = report.notes.join('\n');
    t.match(notes, /generator's ceiling: [\d,]+ requests\/s/);
    t.match(notes, /Closed loop: /);
    t.notMatch(notes, /Open loop|late \(p99\)/, 'the notes mention only measured phases');
  },
);

t.test('in the case "engine", Quarry and its peers find the results of exact search', async (t) => {
  const report = await readReport(smokeFolder, 'engine');
  const filtered = report.tables.find(({ title }) => title.startsWith('Searches with a filter'))?.rows ?? [];
  t.ok(filtered.length >= 12, 'six filters, two engines');
  for (const { engine, filter, recall } of filtered)
    t.ok(Number(recall) > 0.9, `${engine}, ${filter}: ${recall}`);
  t.match(report.method.join('\n'), /quarry \([\d.]+, kernels \w+\)/, 'the kernels are reported');
  const replaced = report.tables.find(({ title }) => title === 'Recall as the vectors are replaced');
  for (const { engine, rounds, recall0, recall3 } of replaced?.rows ?? []) {
    t.equal(rounds, 3, `${engine} ran as many rounds as the others`);
    t.ok(Number(recall3) > Number(recall0) - 0.05, `${engine}: ${recall0}, then ${recall3}`);
  }
  t.equal(replaced?.rows.length, 2);
});
