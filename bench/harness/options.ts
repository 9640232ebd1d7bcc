import { parseArgs } from 'node:util';
import { type HttpKind, httpKinds } from './quarry-server.ts';

/** Everything a person can say to a bench run. */
export interface BenchOptions {
  readonly documents: number;
  readonly wordsPerDocument: number;
  readonly questions: number;
  readonly seed: number;
  readonly shards: readonly number[];
  readonly results: number;
  readonly connections: number;
  /** Null: closed loop. */
  readonly ratePerSecond: number | null;
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly rounds: number;
  readonly http: HttpKind;
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
  documents: whole(1, 1_000_000, 2_000, 'documents of the generated corpus'),
  words: whole(5, 20_000, 300, 'words per document, on average'),
  questions: whole(1, 1_000_000, 10_000, 'different questions, asked in turn'),
  seed: whole(0, 2 ** 31, 1, 'the corpus, the questions and the order of the rounds follow from it'),
  shards: {
    placeholder: 'list',
    preset: shardCounts.join(','),
    meaning: 'shard counts to compare; the first is the peer of the others',
    read: readShards,
  },
  results: whole(1, 128, 10, 'snippets per question'),
  connections: whole(1, 1_024, 8, 'connections of the load generator'),
  rate: {
    placeholder: 'n',
    preset: null,
    meaning: 'open loop: requests per second, sent whatever the server does (default: closed loop)',
    read: (text: string | null, flag: string) =>
      text === null ? null : readNumber(text, flag, { least: 0.1, most: 1_000_000 }),
  },
  seconds: real(0.1, 3_600, 5, 'measured seconds per configuration and round'),
  'warm-up': real(0, 600, 1, 'seconds of load before each measurement'),
  rounds: whole(1, 100, 3, 'rounds; each measures every configuration once, in another order'),
  http: {
    placeholder: 'kind',
    preset: 'auto',
    meaning: `HTTP server: ${httpKinds.join(', ')}`,
    read: readHttp,
  },
  out: {
    placeholder: 'folder',
    preset: null,
    meaning: 'where to write (default: bench/results/latest, overwritten each time)',
    read: (text: string | null) => text,
  },
  keep: {
    placeholder: null,
    preset: null,
    meaning: 'write to a new folder of bench/results that git does not ignore',
    read: (text: string | null) => text !== null,
  },
} satisfies Record<string, Flag<unknown>>;

type FlagName = keyof typeof flags;

export interface CommandLine {
  /** Name of the case; null when only help was asked for. */
  readonly name: string | null;
  readonly options: BenchOptions;
}

/** Reads the words after `npm run bench --`. Throws a UsageFailure that names the word and what is allowed. */
export function readCommandLine(words: readonly string[]): CommandLine {
  const { values, positionals } = parsed(words);
  const value = <Name extends FlagName>(name: Name) => {
    const given = values[name];
    const text = given === undefined ? flags[name].preset : String(given);
    return flags[name].read(text, `--${name}`) as ReturnType<(typeof flags)[Name]['read']>;
  };
  const [name, ...more] = positionals;
  if (more.length > 0)
    throw new UsageFailure(`One case at a time; "${more.join(' ')}" is one word too many.`);
  if (values.out !== undefined && values.keep === true)
    throw new UsageFailure('--out and --keep exclude each other.');
  return {
    name: values.help === true || name === undefined ? null : name,
    options: {
      documents: value('documents'),
      wordsPerDocument: value('words'),
      questions: value('questions'),
      seed: value('seed'),
      shards: value('shards'),
      results: value('results'),
      connections: value('connections'),
      ratePerSecond: value('rate'),
      seconds: value('seconds'),
      warmUpSeconds: value('warm-up'),
      rounds: value('rounds'),
      http: value('http'),
      out: value('out'),
      keep: value('keep'),
    },
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
    '',
    'Cases:',
    ...aligned(cases.map(({ name, summary }) => [name, summary])),
    '',
    'Flags:',
    ...aligned(rows),
    '',
    'Example: npm run bench -- shards --documents 2000 --seconds 5 --connections 8',
  ].join('\n');
}

function aligned(rows: readonly (readonly string[])[]): string[] {
  const width = Math.max(...rows.map(([left = '']) => left.length));
  return rows.map(([left = '', right = '']) => `  ${left.padEnd(width)}  ${right}`);
}

function whole(least: number, most: number, preset: number, meaning: string): Flag<number> {
  return {
    placeholder: 'n',
    preset: String(preset),
    meaning,
    read: (text, flag) => {
      const value = readNumber(text, flag, { least, most });
      if (!Number.isInteger(value)) throw new UsageFailure(`${flag} is ${text}; allowed is a whole number.`);
      return value;
    },
  };
}

function real(least: number, most: number, preset: number, meaning: string): Flag<number> {
  return {
    placeholder: 'n',
    preset: String(preset),
    meaning,
    read: (text, flag) => readNumber(text, flag, { least, most }),
  };
}

function readNumber(
  text: string | null,
  flag: string,
  { least, most }: { least: number; most: number },
): number {
  const value = /^\d+(\.\d+)?$/.test(text ?? '') ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new UsageFailure(`${flag} is ${text}; allowed is a number from ${least} to ${most}.`);
}

function readShards(text: string | null, flag: string): number[] {
  const counts = (text ?? '').split(',').map(Number);
  const wrong = counts.some((count) => !shardCounts.includes(count)) || new Set(counts).size < counts.length;
  if (wrong)
    throw new UsageFailure(`${flag} is ${text}; allowed are different ones of ${shardCounts.join(',')}.`);
  return counts;
}

function readHttp(text: string | null, flag: string): HttpKind {
  const kind = httpKinds.find((name) => name === text);
  if (kind === undefined) throw new UsageFailure(`${flag} is ${text}; allowed is ${httpKinds.join(', ')}.`);
  return kind;
}
