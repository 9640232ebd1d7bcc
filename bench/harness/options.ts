import { parseArgs } from 'node:util';
import { type Difficulty, difficulties } from '../vectors/clustered-vectors.ts';
import { type HttpKind, httpKinds } from './quarry-server.ts';

export const sizes = ['smoke', 'usual', 'full'] as const;
export type Size = (typeof sizes)[number];

/** Everything a person can say to a bench run. */
export interface BenchOptions {
  readonly size: Size;
  readonly documents: readonly number[];
  readonly wordsPerDocument: number;
  readonly vectors: number;
  /** Somebody typed --vectors: it limits the rows of a file too. */
  readonly vectorsTyped: boolean;
  readonly dimensions: number;
  readonly difficulty: Difficulty;
  readonly vectorsFile: string | null;
  readonly questionsFile: string | null;
  readonly engines: readonly string[] | null;
  readonly pgvectorUrl: string | null;
  readonly questions: number;
  readonly seed: number;
  readonly shards: readonly number[];
  readonly results: number;
  readonly connections: readonly number[];
  /** Requests per second, open loop; empty: closed loop. */
  readonly rates: readonly number[];
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly rounds: number;
  readonly http: HttpKind;
  /** Milliseconds that an embedding model of the bench's own takes for a query; null: the built-in model. */
  readonly modelMs: number | null;
  /** Judged collections in BEIR layout; null: generated ones. */
  readonly judged: string | null;
  /** Documents with the passages that answer questions; null: generated ones. */
  readonly passages: string | null;
  /** Documents to parse, with or without a manifest; null: generated ones only. */
  readonly dir: string | null;
  /** Pages of the generated report; the other generated files grow with it. */
  readonly pages: number;
  /** The canary does so many times its usual work. */
  readonly handicap: number;
  /** A JSON report of an earlier run. */
  readonly compare: string | null;
  /** Folder for the results; null: below bench/results. */
  readonly out: string | null;
  readonly keep: boolean;
}

/** A fault of the command line, as a sentence. */
export class UsageFailure extends Error {}

interface Flag<T> {
  readonly placeholder: string | null;
  readonly preset: string | null;
  readonly meaning: string;
  /** The value of what was typed, else of the preset. Throws a UsageFailure that says what is allowed. */
  readonly read: (text: string | null, flag: string) => T;
}

const shardCounts = [1, 8, 16, 32, 64];

/** One line per flag: the parser and the help are made from it. */
const flags = {
  full: mark('the long form: larger collections, more rounds'),
  smoke: mark('every case in a second or two; the figures mean nothing'),
  documents: list(
    { least: 1, most: 10_000_000, whole: true },
    '2000',
    'documents of the generated corpus; several sizes are measured each',
  ),
  words: whole(5, 20_000, 300, 'words per document, on average'),
  vectors: whole(
    100,
    100_000_000,
    20_000,
    'vectors of the generated set, or of --vectors-file its first ones (default: all, up to 1 GiB)',
  ),
  dimensions: whole(4, 8_192, 384, 'dimensions of the generated vectors'),
  difficulty: oneOf(difficulties, 'easy', 'how the generated vectors lie'),
  'vectors-file': text('file', 'vectors of your own (.npy, .fvecs) instead of generated ones'),
  'questions-file': text('file', 'questions to them (default: the last of the vectors are held out)'),
  engines: {
    placeholder: 'list',
    preset: null,
    meaning: 'engines to measure, by name (default: all that are installed)',
    read: (words: string | null) => (words === null ? null : words.split(',').map((word) => word.trim())),
  },
  pgvector: text('url', 'a PostgreSQL server with the extension pgvector, to be measured too'),
  questions: whole(1, 1_000_000, 10_000, 'different questions, asked in turn'),
  seed: whole(0, 2 ** 31, 1, 'the corpus, the questions and the order of the rounds follow from it'),
  shards: {
    placeholder: 'list',
    preset: shardCounts.join(','),
    meaning: 'shard counts to compare; the first is the peer of the others',
    read: readShards,
  },
  results: whole(1, 100, 10, 'results per question'),
  connections: list(
    { least: 1, most: 1_024, whole: true },
    '8',
    'connections of the load generator; several numbers are measured each',
  ),
  rate: list(
    { least: 0.1, most: 1_000_000 },
    null,
    'open loop: requests per second, sent whatever the server does; several are measured each',
  ),
  seconds: real({ least: 0.02, most: 3_600 }, 5, 'measured seconds per configuration and round'),
  'warm-up': real({ least: 0, most: 600 }, 1, 'seconds of load before each measurement'),
  rounds: whole(1, 100, 3, 'rounds; each measures every configuration once, in another order'),
  http: oneOf(httpKinds, 'auto', 'HTTP server'),
  'model-ms': {
    placeholder: 'n',
    preset: null,
    meaning: 'embed with a model that takes so many milliseconds of one core (default: the built-in model)',
    read: (words: string | null, flag: string) =>
      words === null ? null : readNumber(words, flag, { least: 0.1, most: 100 }),
  },
  judged: text('folder', 'judged collections in BEIR layout, for the cases "relevance" and "pipeline"'),
  passages: text('folder', 'documents with passages that answer questions, for the case "passages"'),
  dir: text('folder', 'documents of your own to parse, for the case "parsing"'),
  pages: whole(1, 5_000, 600, 'pages of the generated report that is parsed'),
  handicap: real({ least: 1, most: 100 }, 1, 'the canary does so many times its usual work'),
  compare: text('file', 'JSON of an earlier run: marks what got worse beyond noise, and then exits with 4'),
  out: text('folder', 'where to write (default: bench/results/latest, overwritten each time)'),
  keep: mark('write to a new folder of bench/results that git does not ignore'),
} satisfies Record<string, Flag<unknown>>;

type FlagName = keyof typeof flags;

export interface CommandLine {
  /** The words that are no flags: name of the case, or a command. */
  readonly words: readonly string[];
  readonly size: Size;
  readonly help: boolean;
  /** The options of a case with these presets, in words of the command line; what a person typed goes first. */
  optionsFor(presets: string): BenchOptions;
}

/** Reads the words after `npm run bench --`. Throws a UsageFailure that names the word and what is allowed. */
export function readCommandLine(words: readonly string[]): CommandLine {
  const { values, positionals } = parsed(words);
  if (values.out !== undefined && values.keep === true)
    throw new UsageFailure('--out and --keep exclude each other.');
  if (values.smoke === true && values.full === true)
    throw new UsageFailure('--smoke and --full exclude each other.');
  const size = values.smoke === true ? 'smoke' : values.full === true ? 'full' : 'usual';
  const optionsFor = (presets: string) =>
    readOptions(parsed([...presets.split(' ').filter(Boolean), ...words]).values, {
      size,
      vectorsTyped: values.vectors !== undefined,
    });
  optionsFor('');
  return { words: positionals, size, help: values.help === true, optionsFor };
}

/** What a report may say of a run: names of files and folders, which are the machine's own affair, are left out. */
export function publishedWords(words: readonly string[]): string[] {
  const shown: string[] = [];
  for (let i = 0; i < words.length; i++) {
    const [, name = '', value] = /^--([\w-]+)(?:=(.*))?$/s.exec(words[i]!) ?? [];
    const flag = (flags as Record<string, Flag<unknown>>)[name];
    const isPlace = placeholdersOfPlaces.has(flag?.placeholder ?? '');
    if (!isPlace) shown.push(words[i]!);
    else {
      shown.push(`--${name}`, `<${flag?.placeholder}>`);
      if (value === undefined) i += 1;
    }
  }
  return shown;
}

/** The same for the options themselves. */
export function publishedOptions(options: BenchOptions): Record<string, unknown> {
  const hidden = places.filter((name) => options[name] !== null).map((name) => [name, 'given'] as const);
  // Which vectors were used, a report says itself.
  const { vectorsTyped: _, ...shown } = options;
  return { ...shown, ...Object.fromEntries(hidden) };
}

const places = [
  'vectorsFile',
  'questionsFile',
  'pgvectorUrl',
  'judged',
  'passages',
  'dir',
  'compare',
  'out',
] as const satisfies readonly (keyof BenchOptions)[];
const placeholdersOfPlaces: ReadonlySet<string> = new Set(['file', 'folder', 'url']);

type Values = ReturnType<typeof parsed>['values'];

function readOptions(values: Values, given: Pick<BenchOptions, 'size' | 'vectorsTyped'>): BenchOptions {
  const value = <Name extends FlagName>(name: Name) => {
    const given = values[name];
    const text = given === undefined ? flags[name].preset : String(given);
    return flags[name].read(text, `--${name}`) as ReturnType<(typeof flags)[Name]['read']>;
  };
  return {
    ...given,
    documents: value('documents'),
    wordsPerDocument: value('words'),
    vectors: value('vectors'),
    dimensions: value('dimensions'),
    difficulty: value('difficulty'),
    vectorsFile: value('vectors-file'),
    questionsFile: value('questions-file'),
    engines: value('engines'),
    pgvectorUrl: value('pgvector'),
    questions: value('questions'),
    seed: value('seed'),
    shards: value('shards'),
    results: value('results'),
    connections: value('connections'),
    rates: value('rate'),
    seconds: value('seconds'),
    warmUpSeconds: value('warm-up'),
    rounds: value('rounds'),
    http: value('http'),
    modelMs: value('model-ms'),
    judged: value('judged'),
    passages: value('passages'),
    dir: value('dir'),
    pages: value('pages'),
    handicap: value('handicap'),
    compare: value('compare'),
    out: value('out'),
    keep: value('keep'),
  };
}

function parsed(words: readonly string[]) {
  const options: Record<string, { type: 'boolean' | 'string'; short?: string }> = {
    help: { type: 'boolean', short: 'h' },
  };
  for (const [name, flag] of Object.entries(flags)) {
    options[name] = { type: flag.placeholder === null ? 'boolean' : 'string' };
  }
  try {
    return parseArgs({ args: [...words], allowPositionals: true, options });
  } catch (error) {
    throw new UsageFailure((error as Error).message);
  }
}

/** The help page; `cases` are the lines of the cases. */
export function helpText(cases: readonly { readonly name: string; readonly summary: string }[]): string {
  const rows = Object.entries<Flag<unknown>>(flags).map(([name, flag]) => {
    const preset = flag.preset === null ? '' : ` [${flag.preset}]`;
    return [
      `--${name}${flag.placeholder === null ? '' : ` <${flag.placeholder}>`}`,
      `${flag.meaning}${preset}`,
    ];
  });
  return [
    'Usage: npm run bench -- <case> [flags]',
    '       npm run bench -- peers [install]',
    '       npm run bench -- compare <old.json> <new.json>',
    '       npm run bench -- render <report.json>...',
    '',
    'Cases:',
    ...aligned([...cases.map(({ name, summary }) => [name, summary]), ['all', 'each of them, and one page']]),
    '',
    'Flags (a case may preset them differently; bench/README.md):',
    ...aligned(rows),
    '',
    'Example: npm run bench -- shards --documents 2000 --seconds 5 --connections 8',
  ].join('\n');
}

function aligned(rows: readonly (readonly string[])[]): string[] {
  const width = Math.max(...rows.map(([left = '']) => left.length));
  return rows.map(([left = '', right = '']) => `  ${left.padEnd(width)}  ${right}`);
}

interface Bounds {
  readonly least: number;
  readonly most: number;
  readonly whole?: boolean;
}

function mark(meaning: string): Flag<boolean> {
  return { placeholder: null, preset: null, meaning, read: (text) => text !== null };
}

function text(placeholder: string, meaning: string): Flag<string | null> {
  return { placeholder, preset: null, meaning, read: (words) => words };
}

function whole(least: number, most: number, preset: number, meaning: string): Flag<number> {
  return {
    placeholder: 'n',
    preset: String(preset),
    meaning,
    read: (text, flag) => readNumber(text, flag, { least, most, whole: true }),
  };
}

function real(bounds: Bounds, preset: number, meaning: string): Flag<number> {
  return {
    placeholder: 'n',
    preset: String(preset),
    meaning,
    read: (text, flag) => readNumber(text, flag, bounds),
  };
}

function list(bounds: Bounds, preset: string | null, meaning: string): Flag<number[]> {
  return {
    placeholder: 'list',
    preset,
    meaning,
    read: (text, flag) => {
      const values = text === null ? [] : text.split(',').map((one) => readNumber(one, flag, bounds));
      if (new Set(values).size === values.length) return values;
      throw new UsageFailure(`${flag} is ${text}; allowed are different numbers.`);
    },
  };
}

function oneOf<Name extends string>(names: readonly Name[], preset: Name, meaning: string): Flag<Name> {
  return {
    placeholder: 'kind',
    preset,
    meaning: `${meaning}: ${names.join(', ')}`,
    read: (text, flag) => {
      const known = names.find((name) => name === text);
      if (known === undefined) throw new UsageFailure(`${flag} is ${text}; allowed is ${names.join(', ')}.`);
      return known;
    },
  };
}

function readNumber(text: string | null, flag: string, { least, most, whole = false }: Bounds): number {
  const value = /^\d+(\.\d+)?$/.test(text ?? '') ? Number(text) : Number.NaN;
  const kind = whole ? 'a whole number' : 'a number';
  if (value >= least && value <= most && (!whole || Number.isInteger(value))) return value;
  throw new UsageFailure(`${flag} is ${text}; allowed is ${kind} from ${least} to ${most}.`);
}

function readShards(text: string | null, flag: string): number[] {
  const counts = (text ?? '').split(',').map(Number);
  const wrong = counts.some((count) => !shardCounts.includes(count)) || new Set(counts).size < counts.length;
  if (wrong)
    throw new UsageFailure(`${flag} is ${text}; allowed are different ones of ${shardCounts.join(',')}.`);
  return counts;
}
