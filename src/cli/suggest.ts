import { queryLimits } from '../core/query-limits.ts';
import type { SuggestResponse } from '../schemas/suggestions.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { collectionOption, jsonOption } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { integerOption } from './option-values.ts';
import { toPrintable } from './text-layout.ts';

export const suggestCommand: CommandSpec = {
  usage: 'suggest <query...>',
  settings: 'client',
  summary: 'complete a query with words and titles of the documents',
  options: [
    collectionOption,
    {
      flags: '--limit <count>',
      meaning: `number of suggestions, up to ${queryLimits.suggestionsMax}`,
      default: '5',
    },
    jsonOption,
  ],
  examples: ['quarry suggest "refund po" --collection handbook'],
  run: suggest,
};

async function suggest(
  { api, terminal }: CommandContext,
  args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const reply = await api.call<SuggestResponse>('queries/suggest', {
    collection_name: String(options.collection),
    query: args.join(' '),
    limit: integerOption(options, 'limit', { minimum: 1, maximum: queryLimits.suggestionsMax }),
  });
  if (options.json === true) terminal.out(JSON.stringify(reply));
  else for (const { query } of reply.suggestions) terminal.out(toPrintable(query));
  return exitCodes.done;
}
