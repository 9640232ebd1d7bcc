import { parseArgs } from 'node:util';
import { type Difficulty, difficulties } from '../vectors/clustered-vectors.ts';
import { type EnginePhase, phasesFlag } from './engine-phases.ts';
import {
  BenchUsageError,
  choiceFlag,
  type FlagSpec,
  integerFlag,
  listFlag,
  numberFlag,
  readNumber,
  switchFlag,
  textFlag,
} from './flag-specs.ts';
import { type HttpKind, httpKinds } from './quarry-server.ts';
import { callsFlag, type QueryCall } from './query-calls.ts';

export const sizes = ['smoke', 'usual', 'full'] as const;
export type RunSize = (typeof sizes)[number];

/** All options of a bench run. */
export interface BenchOptions {
  readonly size: RunSize;
  readonly documents: readonly number[];
  readonly wordsPerDocument: number;
  readonly vectors: number;
  /** Whether --vectors was given: it then also limits the rows of a file. */
  readonly isVectorsFlagSet: boolean;
  readonly dimensions: number;
  readonly difficulty: Difficulty;
  readonly vectorsFile: string | null;
  readonly questionsFile: string | null;
  readonly engines: readonly string[] | null;
  readonly pgvectorUrl: string | null;
  readonly questions: number;
  readonly seed: number;
  readonly shards: readonly number[];
  /** Results per question; the first of `resultCounts`. */
  readonly results: number;
  /** Results per question that the case "engine" measures. */
  readonly resultCounts: readonly number[];
  readonly phases: readonly EnginePhase[];
  readonly connections: readonly number[];
  /** Requests per second, open loop; empty: closed loop. */
  readonly rates: readonly number[];
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly rounds: number;
  /** Seconds after which the run ends with the results so far; null: no limit. */
  readonly secondsMax: number | null;
  readonly http: HttpKind;
  /** Milliseconds that the bench's own embedding model takes for a query; null: the built-in model. */
  readonly modelMs: number | null;
  /** Judged collections in BEIR layout; null: generated ones. */
  readonly judged: string | null;
  /** File with documents that replace those of the judged set; null: its own. */
  readonly corpusFile: string | null;
  /** Maximum number of documents of the judged set or of `corpusFile`; null: all. */
  readonly documentsMax: number | null;
  /** Calls to measure in a closed loop; null: snippets, also at fixed rates. */
  readonly calls: readonly QueryCall[] | null;
  /** Whether to profile the main thread of the server under the load of each call. */
  readonly isProfiling: boolean;
  /** Documents with the passages that answer questions; null: generated ones. */
  readonly passages: string | null;
  /** Documents to parse, with or without a manifest; null: only generated ones. */
  readonly dir: string | null;
  /** Pages of the generated report; the size of the other generated files is proportional. */
  readonly pages: number;
  /** Factor by which the canary increases its work. */
  readonly handicap: number;
  /** JSON report of an earlier run. */
  readonly compare: string | null;
  /** Folder for the results; null: below bench/results. */
  readonly out: string | null;
  readonly keep: boolean;
}

const shardCounts = [1, 8, 16, 32, 64];

/** One line per flag: the parser and the help are generated from it. */
const flags = {
  full: switchFlag('the full run: larger collections, more rounds'),
  smoke: switchFlag('every case in a second or two; the figures are not meaningful'),
  documents: listFlag(
    { min: 1, max: 10_000_000, isInteger: true },
    '2000',
    'documents of the generated corpus; several sizes are measured separately',
  ),
  words: integerFlag(5, 20_000, 300, 'words per document, on average'),
  vectors: integerFlag(
    100,
    100_000_000,
    20_000,
    'number of generated vectors, or of the first vectors of --vectors-file (default: all, up to 1 GiB)',
  ),
  dimensions: integerFlag(4, 8_192, 384, 'dimensions of the generated vectors'),
  difficulty: choiceFlag(difficulties, 'easy', 'distribution of the generated vectors'),
  'vectors-file': textFlag('file', 'your own vectors (.npy, .fvecs) instead of generated ones'),
  'questions-file': textFlag(
    'file',
    'question vectors for --vectors-file (default: its last vectors are held out)',
  ),
  engines: {
    placeholder: 'list',
    defaultText: null,
    meaning: 'engines to measure, by name (default: all that are installed)',
    read: (words: string | null) => (words === null ? null : words.split(',').map((word) => word.trim())),
  },
  pgvector: textFlag('url', 'also measure a PostgreSQL server with the extension pgvector'),
  questions: integerFlag(1, 1_000_000, 10_000, 'number of different questions, sent in turn'),
  seed: integerFlag(0, 2 ** 31, 1, 'seed of the corpus, the questions and the order of the rounds'),
  shards: {
    placeholder: 'list',
    defaultText: shardCounts.join(','),
    meaning: 'shard counts to compare; the first is the baseline',
    read: readShards,
  },
  results: integerFlag(1, 100, 10, 'results per question'),
  k: listFlag(
    { min: 1, max: 100, isInteger: true },
    null,
    'results per question instead of --results; the case "engine" measures several numbers separately',
  ),
  phases: phasesFlag,
  connections: listFlag(
    { min: 1, max: 1_024, isInteger: true },
    '8',
    'connections of the load generator; several numbers are measured separately',
  ),
  rate: listFlag(
    { min: 0.1, max: 1_000_000 },
    null,
    'open loop: requests per second, independent of the replies; several numbers are measured separately',
  ),
  seconds: numberFlag({ min: 0.02, max: 3_600 }, 5, 'measured seconds per configuration and round'),
  'warm-up': numberFlag({ min: 0, max: 600 }, 1, 'seconds of load before each measurement'),
  rounds: integerFlag(1, 100, 3, 'rounds; each measures every configuration once, in another order'),
  'time-limit': {
    placeholder: 'n',
    defaultText: null,
    meaning: 'seconds after which the run writes the results so far and ends',
    read: (text: string | null, flag: string) =>
      text === null ? null : readNumber(text, flag, { min: 0.1, max: 1_000_000 }),
  },
  http: choiceFlag(httpKinds, 'auto', 'HTTP server'),
  'model-ms': {
    placeholder: 'n',
    defaultText: null,
    meaning: 'embed with a model that takes this many milliseconds of one core (default: the built-in model)',
    read: (words: string | null, flag: string) =>
      words === null ? null : readNumber(words, flag, { min: 0.1, max: 100 }),
  },
  judged: textFlag(
    'folder',
    'documents and queries in BEIR layout instead of generated ones: server, shards, ingest, disk, relevance, pipeline',
  ),
  corpus: textFlag(
    'file',
    'documents (.jsonl, .jsonl.xz) that replace those of --judged, whose queries remain: server, shards, ingest, disk',
  ),
  limit: {
    placeholder: 'n',
    defaultText: null,
    meaning: 'documents to read of --judged or --corpus (default: all)',
    read: (text: string | null, flag: string) =>
      text === null ? null : readNumber(text, flag, { min: 1, max: 10_000_000, isInteger: true }),
  },
  calls: callsFlag,
  'cpu-profile': switchFlag('also profile the server: CPU by stage of each call, for the case "server"'),
  passages: textFlag('folder', 'documents with passages that answer questions, for the case "passages"'),
  dir: textFlag('folder', 'your own documents to parse, for the case "parsing"'),
  pages: integerFlag(1, 5_000, 600, 'pages of the generated report that is parsed'),
  handicap: numberFlag({ min: 1, max: 100 }, 1, 'factor by which the canary multiplies its work'),
  compare: textFlag(
    'file',
    'JSON report of an earlier run: marks regressions beyond noise; exit code 4 if there are any',
  ),
  out: textFlag('folder', 'output folder (default: bench/results/latest, overwritten each time)'),
  keep: switchFlag('write to a new folder of bench/results that git tracks'),
} satisfies Record<string, FlagSpec<unknown>>;

type FlagName = keyof typeof flags;

export interface CommandLine {
  /** Arguments that are not flags: name of the case, or a command. */
  readonly positionals: readonly string[];
  readonly size: RunSize;
  readonly help: boolean;
  /**
   * Returns the options of a case with these presets in command-line syntax; flags given by the user take
   * precedence.
   */
  optionsFor(presets: string): BenchOptions;
}

/**
 * Parses the arguments after `npm run bench --`. Errors: `BenchUsageError` with the argument and the allowed
 * values.
 */
export function readCommandLine(args: readonly string[]): CommandLine {
  const { values, positionals } = parseFlags(args);
  if (values.out !== undefined && values.keep === true)
    throw new BenchUsageError('--out and --keep cannot be combined.');
  if (values.smoke === true && values.full === true)
    throw new BenchUsageError('--smoke and --full cannot be combined.');
  const size = values.smoke === true ? 'smoke' : values.full === true ? 'full' : 'usual';
  const optionsFor = (presets: string) =>
    readOptions(parseFlags([...presets.split(' ').filter(Boolean), ...args]).values, {
      size,
      isVectorsFlagSet: values.vectors !== undefined,
    });
  optionsFor('');
  return { positionals, size, help: values.help === true, optionsFor };
}

/** Removes names of files and folders from the arguments, because they must not appear in a report. */
export function redactArguments(args: readonly string[]): string[] {
  const shown: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const [, name = '', value] = /^--([\w-]+)(?:=(.*))?$/s.exec(args[i]!) ?? [];
    const flag = (flags as Record<string, FlagSpec<unknown>>)[name];
    const isRedacted = redactedPlaceholders.has(flag?.placeholder ?? '');
    if (!isRedacted) shown.push(args[i]!);
    else {
      shown.push(`--${name}`, `<${flag?.placeholder}>`);
      if (value === undefined) i += 1;
    }
  }
  return shown;
}

/** Same as `redactArguments` for the options. */
export function redactOptions(options: BenchOptions): Record<string, unknown> {
  const hidden = redactedOptions
    .filter((name) => options[name] !== null)
    .map((name) => [name, 'given'] as const);
  // The report states the vectors separately.
  const { isVectorsFlagSet: _, calls, ...shown } = options;
  return { ...shown, calls: calls?.map(({ name }) => name) ?? null, ...Object.fromEntries(hidden) };
}

const redactedOptions = [
  'vectorsFile',
  'questionsFile',
  'pgvectorUrl',
  'judged',
  'corpusFile',
  'passages',
  'dir',
  'compare',
  'out',
] as const satisfies readonly (keyof BenchOptions)[];
const redactedPlaceholders: ReadonlySet<string> = new Set(['file', 'folder', 'url']);

type Values = ReturnType<typeof parseFlags>['values'];

function readOptions(
  values: Values,
  caseOptions: Pick<BenchOptions, 'size' | 'isVectorsFlagSet'>,
): BenchOptions {
  const value = <Name extends FlagName>(name: Name) => {
    const given = values[name];
    const text = given === undefined ? flags[name].defaultText : String(given);
    return flags[name].read(text, `--${name}`) as ReturnType<(typeof flags)[Name]['read']>;
  };
  const k = value('k');
  const resultCounts = k.length > 0 ? k : [value('results')];
  return {
    ...caseOptions,
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
    results: resultCounts[0]!,
    resultCounts,
    phases: value('phases'),
    connections: value('connections'),
    rates: value('rate'),
    seconds: value('seconds'),
    warmUpSeconds: value('warm-up'),
    rounds: value('rounds'),
    secondsMax: value('time-limit'),
    http: value('http'),
    modelMs: value('model-ms'),
    judged: value('judged'),
    corpusFile: value('corpus'),
    documentsMax: value('limit'),
    calls: value('calls'),
    isProfiling: value('cpu-profile'),
    passages: value('passages'),
    dir: value('dir'),
    pages: value('pages'),
    handicap: value('handicap'),
    compare: value('compare'),
    out: value('out'),
    keep: value('keep'),
  };
}

function parseFlags(args: readonly string[]) {
  const options: Record<string, { type: 'boolean' | 'string'; short?: string }> = {
    help: { type: 'boolean', short: 'h' },
  };
  for (const [name, flag] of Object.entries(flags)) {
    options[name] = { type: flag.placeholder === null ? 'boolean' : 'string' };
  }
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options });
  } catch (error) {
    throw new BenchUsageError((error as Error).message);
  }
}

/** Returns the help page; `cases` are the lines of the cases. */
export function helpText(cases: readonly { readonly name: string; readonly summary: string }[]): string {
  const rows = Object.entries<FlagSpec<unknown>>(flags).map(([name, flag]) => {
    const defaultNote = flag.defaultText === null ? '' : ` [${flag.defaultText}]`;
    return [
      `--${name}${flag.placeholder === null ? '' : ` <${flag.placeholder}>`}`,
      `${flag.meaning}${defaultNote}`,
    ];
  });
  return [
    'Usage: npm run bench -- <case> [flags]',
    '       npm run bench -- peers [install]',
    '       npm run bench -- compare <old.json> <new.json>',
    '       npm run bench -- render <report.json>...',
    '',
    'Cases:',
    ...alignColumns([
      ...cases.map(({ name, summary }) => [name, summary]),
      ['all', 'every case, and one page for all'],
    ]),
    '',
    'Flags (a case may preset them differently; bench/README.md):',
    ...alignColumns(rows),
    '',
    'Example: npm run bench -- shards --documents 2000 --seconds 5 --connections 8',
  ].join('\n');
}

function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const width = Math.max(...rows.map(([left = '']) => left.length));
  return rows.map(([left = '', right = '']) => `  ${left.padEnd(width)}  ${right}`);
}

function readShards(text: string | null, flag: string): number[] {
  const counts = (text ?? '').split(',').map(Number);
  const wrong = counts.some((count) => !shardCounts.includes(count)) || new Set(counts).size < counts.length;
  if (wrong)
    throw new BenchUsageError(`${flag} is ${text}; expected distinct values of ${shardCounts.join(',')}.`);
  return counts;
}
