import { parseArgs } from 'node:util';
import type { Part, PartSize } from './part.ts';

/** Validated command line. */
export interface CampaignOptions {
  readonly parts: readonly Part[];
  readonly size: PartSize;
  readonly seed: number;
  readonly report: string;
  readonly plantsFault: boolean;
  readonly show: 'help' | 'list' | null;
}

/** Invalid command line; the message describes the error. */
export class CampaignUsageError extends Error {
  override readonly name = 'CampaignUsageError';
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

Runs real servers on this machine and checks the guarantees of Quarry.
Exit status: 0 every guarantee held, 1 a guarantee was violated, 2 wrong usage, 130 interrupted.

  --only PART[,PART]   run only these parts
  --list               list the parts and their guarantees
  --minutes N          minutes for each part (default: depends on the part)
  --seed N             seed of all random choices (default: random, printed and in the report)
  --report FILE        file of the JSON report (default: bench/results/latest/campaign.json)
  --rounds N           kill, disk, clock: number of rounds
  --files FOLDER       hostile: folder of real documents to mutate (default: documents of the tests)
  --files-max N        hostile: number of files to mutate
  --mutations N        hostile: mutations of each file
  --plant-fault        inject one fault that each part must detect; the exit status must be 1
`;

export function readOptions(
  commandLineArguments: readonly string[],
  parts: readonly Part[],
  defaults: { readonly seed: number; readonly report: string },
): CampaignOptions {
  const values = parse(commandLineArguments);
  return {
    parts: selectParts(values.only, parts),
    size: {
      minutes: parseNumber('minutes', values.minutes, { above: 0 }),
      rounds: parseInteger('rounds', values.rounds),
      files: values.files ?? null,
      filesMax: parseInteger('files-max', values['files-max']),
      mutations: parseInteger('mutations', values.mutations),
    },
    seed: parseInteger('seed', values.seed) ?? defaults.seed,
    report: values.report ?? defaults.report,
    plantsFault: values['plant-fault'] ?? false,
    show: values.help ? 'help' : values.list ? 'list' : null,
  };
}

function parse(commandLineArguments: readonly string[]) {
  try {
    return parseArgs({ args: [...commandLineArguments], options: flags, allowPositionals: false }).values;
  } catch (error) {
    throw new CampaignUsageError((error as Error).message);
  }
}

function selectParts(only: string | undefined, parts: readonly Part[]): readonly Part[] {
  if (only === undefined) return parts;
  const names = only.split(',').map((name) => name.trim());
  return names.map((name) => {
    const part = parts.find((known) => known.name === name);
    const known = parts.map((each) => each.name).join(', ');
    if (part === undefined)
      throw new CampaignUsageError(`--only: there is no part "${name}". Parts: ${known}.`);
    return part;
  });
}

function parseNumber(name: string, text: string | undefined, { above }: { above: number }): number | null {
  if (text === undefined) return null;
  const value = Number(text);
  if (!(value > above) || !Number.isFinite(value))
    throw new CampaignUsageError(`--${name} must be a number above ${above}, but is "${text}".`);
  return value;
}

function parseInteger(name: string, text: string | undefined): number | null {
  const value = parseNumber(name, text, { above: 0 });
  if (value !== null && !Number.isSafeInteger(value))
    throw new CampaignUsageError(`--${name} must be a whole number, but is "${text}".`);
  return value;
}
