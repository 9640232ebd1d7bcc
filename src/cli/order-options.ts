import { AppError } from '../core/app-error.ts';
import type { CommandOptions, OptionSpec } from './command.ts';

/** Options that order results by metadata and count their values. */
export const orderOptions: readonly OptionSpec[] = [
  {
    flags: '--sort <field>',
    meaning: 'order the best results by a metadata field; -field is descending; repeat for ties',
    isRepeatable: true,
  },
  {
    flags: '--boost <field:half-life>',
    meaning:
      'prefer recent documents by a field with dates: published:30d, or published:30d:0.5 with a weight',
  },
  {
    flags: '--facet <field>',
    meaning: 'count the values of a metadata field; repeat for more',
    isRepeatable: true,
  },
];

/** Returns the fields of a query request. Errors: AppError `bad_request`. */
export function readOrderOptions(options: CommandOptions): Record<string, unknown> {
  const sort = readList(options, 'sort').map((name) =>
    name.startsWith('-') ? { field: name.slice(1), order: 'desc' } : { field: name },
  );
  const facets = readList(options, 'facet');
  return {
    ...(sort.length === 0 ? {} : { sort }),
    ...(options.boost === undefined ? {} : { boost: parseBoost(String(options.boost)) }),
    ...(facets.length === 0 ? {} : { facets }),
  };
}

function readList(options: CommandOptions, name: string): readonly string[] {
  return (options[name] as readonly string[] | undefined) ?? [];
}

function parseBoost(text: string): { field: string; half_life: string; weight?: number } {
  const [, field, halfLife, weight] = /^([^:]+):([^:]+)(?::(\d*\.?\d+))?$/.exec(text) ?? [];
  if (field !== undefined && halfLife !== undefined)
    return { field, half_life: halfLife, ...(weight === undefined ? {} : { weight: Number(weight) }) };
  throw new AppError(
    'bad_request',
    `--boost is ${JSON.stringify(text)}; expected a field and a half-life, such as published:30d, and optionally a weight, such as published:30d:0.5.`,
  );
}
