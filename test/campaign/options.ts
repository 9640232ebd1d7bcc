import { parseArgs } from 'node:util';
import type { Part, Size } from './part.ts';

/** The command line, checked. */
export interface Options {
  readonly parts: readonly Part[];
  readonly size: Size;
  readonly seed: number;
  readonly report: string;
  readonly plantsFault: boolean;
  readonly show: 'help' | 'list' | null;
}

/** The command line is wrong; the message says how. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const flags = {
  only: { type: 'string' },
  minutes: { type: 'string' },
  seed: { type: 'string' },
  report: { type: 'string' },
  rounds: { type: 'string' },
  files: { type: 'string' },
  'files-max': { type: 'string' },
  mutations: { type: 'string' },
  'plant-fault': { type: 'boolean' },
  list: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

export const helpText = `npm run campaign -- [flags]

Runs real servers on this machine and checks what Quarry guarantees.
Exit status: 0 every guarantee held, 1 a guarantee was violated, 2 wrong usage, 130 interrupted.

  --only PART[,PART]   run these parts only
  --list               list the parts and their guarantees
  --minutes N          minutes for each part (default: depends on the part)
  --seed N             seed of all random choices (default: random, printed and in the report)
  --report FILE        where to write the JSON report (default: bench/results/latest/campaign.json)
  --rounds N           kill, disk, clock: number of rounds
  --files FOLDER       hostile: folder of real documents to mutate (default: documents of the tests)
  --files-max N        hostile: number of files to mutate
  --mutations N        hostile: mutations of each file
  --plant-fault        plant one fault that each part must find; the campaign must exit with 1
`;

export function readOptions(
  words: readonly string[],
  parts: readonly Part[],
  defaults: { readonly seed: number; readonly report: string },
): Options {
  const values = parse(words);
  return {
    parts: partsOf(values.only, parts),
    size: {
      minutes: numberOf('minutes', values.minutes, { above: 0 }),
      rounds: wholeOf('rounds', values.rounds),
      files: values.files ?? null,
      filesMax: wholeOf('files-max', values['files-max']),
      mutations: wholeOf('mutations', values.mutations),
    },
    seed: wholeOf('seed', values.seed) ?? defaults.seed,
    report: values.report ?? defaults.report,
    plantsFault: values['plant-fault'] ?? false,
    show: values.help ? 'help' : values.list ? 'list' : null,
  };
}

function parse(words: readonly string[]) {
  try {
    return parseArgs({ args: [...words], options: flags, allowPositionals: false }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function partsOf(only: string | undefined, parts: readonly Part[]): readonly Part[] {
  if (only === undefined) return parts;
  const names = only.split(',').map((name) => name.trim());
  return names.map((name) => {
    const part = parts.find((known) => known.name === name);
    const known = parts.map((each) => each.name).join(', ');
    if (part === undefined) throw new UsageError(`--only: there is no part "${name}". Parts: ${known}.`);
    return part;
  });
}

function numberOf(name: string, text: string | undefined, { above }: { above: number }): number | null {
  if (text === undefined) return null;
  const value = Number(text);
  if (!(value > above) || !Number.isFinite(value))
    throw new UsageError(`--${name} must be a number above ${above}, but is "${text}".`);
  return value;
}

function wholeOf(name: string, text: string | undefined): number | null {
  const value = numberOf(name, text, { above: 0 });
  if (value !== null && !Number.isSafeInteger(value))
    throw new UsageError(`--${name} must be a whole number, but is "${text}".`);
  return value;
}
