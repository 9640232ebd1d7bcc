import { AppError } from '../core/app-error.ts';
import type { CommandOptions, OptionSpec } from './command.ts';

export const facetOption: OptionSpec = {
  flags: '--facet <field>',
  meaning: 'count the values of a metadata field; repeat for more',
  isRepeatable: true,
};

/** Options that order results by metadata, group them, and count their values. */
export const orderOptions: readonly OptionSpec[] = [
  {
    flags: '--sort <field>',
    meaning: 'order the best results by a metadata field; -field is descending; repeat to break ties',
    isRepeatable: true,
  },
  {
    flags: '--boost <field:half-life>',
    meaning:
      'prefer recent documents by a field with dates: published:30d, or published:30d:0.5 with a weight',
  },
  {
    flags: '--group-by <field:size>',
    meaning: 'group the best results by a metadata field: author, or author:2 for at most 2 per value',
    conflicts: ['includeCursor', 'cursor'],
  },
  facetOption,
];

/** Returns the fields of a query request. Errors: AppError `bad_request`. */
export function readOrderOptions(options: CommandOptions): Record<string, unknown> {
  return {
    ...readSortOption(options),
    ...(options.boost === undefined ? {} : { boost: parseBoost(String(options.boost)) }),
    ...(options.groupBy === undefined ? {} : { group_by: parseGroupBy(String(options.groupBy)) }),
    ...readFacetOption(options),
  };
}

/** Returns the field `sort` of a request, or no field. */
export function readSortOption(options: CommandOptions): Record<string, unknown> {
  const sort = readList(options, 'sort').map((name) =>
    name.startsWith('-') ? { field: name.slice(1), order: 'desc' } : { field: name },
  );
  return sort.length === 0 ? {} : { sort };
}

/** Returns the field `facets` of a request, or no field. */
export function readFacetOption(options: CommandOptions): Record<string, unknown> {
  const facets = readList(options, 'facet');
  return facets.length === 0 ? {} : { facets };
}

function readList(options: CommandOptions, name: string): readonly string[] {
  return (options[name] as readonly string[] | undefined) ?? [];
}

function parseGroupBy(text: string): { field: string; size?: number } {
  const [, field, size] = /^([^:]+)(?::(\d{1,9}))?$/.exec(text) ?? [];
  if (field !== undefined) return { field, ...(size === undefined ? {} : { size: Number(size) }) };
  throw new AppError(
    'bad_request',
    `--group-by is ${JSON.stringify(text)}; expected a field, such as author, and optionally the number of results of each value, such as author:2.`,
  );
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
