import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BenchUsageError } from '../../bench/harness/flag-specs.ts';
import { helpText, readCommandLine, redactArguments, redactOptions } from '../../bench/harness/options.ts';
import { projectRoot } from '../../src/core/root.ts';
import t from '../support/tap.ts';

const words = (line: string) => line.split(' ');

t.test('a case without flags runs with the defaults that the help shows', async (t) => {
  const { positionals: named, size, optionsFor } = readCommandLine(['shards']);
  const options = optionsFor('');
  t.same(named, ['shards']);
  t.equal(size, 'usual');
  t.same(options.shards, [1, 8, 16, 32, 64]);
  t.same(options.rates, []);
  t.equal(options.keep, false);
  t.equal(options.out, null);
  const help = helpText([{ name: 'shards', summary: 'what it measures' }]);
  t.match(help, /shards {2}what it measures/);
  t.match(help, new RegExp(`--documents <list> .*\\[${options.documents}\\]`));
  t.match(help, /--shards <list> .*\[1,8,16,32,64\]/);
});

t.test('help is shown without a case and with --help', async (t) => {
  t.same(readCommandLine([]).positionals, []);
  t.equal(readCommandLine(['--help']).help, true);
  t.equal(readCommandLine(['shards', '-h']).help, true);
});

t.test('flags override the presets of a case, and presets override defaults', async (t) => {
  const { optionsFor, size } = readCommandLine(words('shards --documents 40 --full'));
  t.equal(size, 'full');
  const { documents, rounds, seed } = optionsFor('--documents 7 --rounds 9');
  t.same({ documents, rounds, seed }, { documents: [40], rounds: 9, seed: 1 });
});

t.test('each flag is parsed to its value', async (t) => {
  const line =
    'shards --documents 40 --words 50 --questions 7 --seed 3 --shards 8,64 --results 5 --connections 2,16';
  const { optionsFor } = readCommandLine(
    words(
      `${line} --rate 12.5 --seconds 0.5 --warm-up 0 --rounds 1 --http node --keep --engines quarry,usearch --compare old.json`,
    ),
  );
  t.match(optionsFor(''), {
    size: 'usual',
    documents: [40],
    wordsPerDocument: 50,
    questions: 7,
    seed: 3,
    shards: [8, 64],
    results: 5,
    connections: [2, 16],
    rates: [12.5],
    seconds: 0.5,
    warmUpSeconds: 0,
    rounds: 1,
    http: 'node',
    engines: ['quarry', 'usearch'],
    compare: 'old.json',
    out: null,
    keep: true,
  });
});

t.test('--k replaces --results; without it there is one number of results', async (t) => {
  const resultsOf = (line: string) => {
    const { results, resultCounts } = readCommandLine(words(line)).optionsFor('--results 5');
    return [results, resultCounts];
  };
  t.same(resultsOf('engine --k 10,100'), [10, [10, 100]]);
  t.same(resultsOf('engine'), [5, [5]]);
  const { phases, secondsMax } = readCommandLine(words('engine --phases insert,build')).optionsFor('');
  t.same([phases, secondsMax], [['build', 'insert'], null]);
});

const wrongLines: readonly (readonly [line: string, sentence: RegExp])[] = [
  ['shards --documents many', /--documents is many; expected a whole number from 1 to/],
  ['shards --documents 0', /--documents is 0/],
  ['shards --documents 1.5', /whole number/],
  ['shards --seconds 1e3', /--seconds is 1e3/],
  ['shards --shards 1,2', /--shards is 1,2; expected distinct values of 1,8,16,32,64/],
  ['shards --shards 8,8', /distinct values/],
  ['shards --rate 50,100,50.0', /--rate is 50,100,50.0; expected distinct numbers/],
  ['shards --documents 500,500', /distinct numbers/],
  ['shards --http nginx', /--http is nginx; expected auto, uws, node/],
  ['shards --speed 3', /--speed/],
  ['shards --connections 1,none', /--connections is none/],
  [
    'server --calls snippets,poems',
    /--calls is snippets,poems; expected distinct values of snippets, precise,/,
  ],
  ['server --calls pages,pages', /--calls is pages,pages/],
  [
    'engine --phases build,fly',
    /--phases is build,fly; expected distinct values of build, curve, filters, replace, insert/,
  ],
  ['engine --k 10,101', /--k is 101; expected a whole number from 1 to 100/],
  ['server --limit 0', /--limit is 0/],
  ['shards --smoke --full', /cannot be combined/],
  ['shards --keep --out here', /cannot be combined/],
];

t.test('an invalid value is rejected with the allowed values', async (t) => {
  for (const [line, sentence] of wrongLines) {
    try {
      readCommandLine(words(line));
      t.fail(`${line} was accepted`);
    } catch (error) {
      t.type(error, BenchUsageError, line);
      t.match((error as Error).message, sentence, line);
    }
  }
});

t.test('the examples of bench/README.md are valid commands', async (t) => {
  const page = await readFile(join(projectRoot, 'bench', 'README.md'), 'utf8');
  const lines = [...page.matchAll(/^npm run bench -- (.*?)(?: +#.*)?$/gm)].map(([, line = '']) => line);
  t.ok(lines.length > 8);
  const typed = lines.map((line) =>
    [...line.matchAll(/"([^"]*)"|\S+/g)].map(([all, quoted]) => quoted ?? all),
  );
  for (const [at, line] of lines.entries()) {
    const { engines } = readCommandLine(typed[at]!).optionsFor('');
    if (engines !== null) t.ok(engines.includes('quarry'), `targets are those of quarry: ${line}`);
  }
});

t.test('a report contains no path of the machine', async (t) => {
  const line = words('parsing --dir /srv/papers --rounds=2 --out=/tmp/x --seed 3 --keep');
  const shown = 'parsing --dir <folder> --rounds=2 --out <folder> --seed 3 --keep';
  t.equal(redactArguments(line).join(' '), shown);
  const options = readCommandLine(words('parsing --dir /srv/papers')).optionsFor('');
  t.match(redactOptions(options), { dir: 'given', judged: null, seed: 1, calls: null });
  const real = words('server --judged /srv/set --corpus /srv/articles.jsonl --calls pages,snippets');
  t.equal(redactArguments(real).join(' '), 'server --judged <folder> --corpus <file> --calls pages,snippets');
  t.match(redactOptions(readCommandLine(real).optionsFor('')), {
    judged: 'given',
    corpusFile: 'given',
    calls: ['snippets', 'pages'],
  });
});
