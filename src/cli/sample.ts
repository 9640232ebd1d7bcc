import { join } from 'node:path';
import { projectRoot } from '../core/root.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { jsonOption } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { ingestCommand } from './ingest.ts';

/** Sample collection for the first search: a handbook of a fictional company. */

const sampleFolder = join(projectRoot, 'samples', 'handbook');

/** Questions that the sample answers. */
export const sampleQuestions = [
  'How long do refunds take?',
  'How many days of holiday do I have?',
  'My laptop was stolen. What should I do?',
  'May I work from another country?',
] as const;

export const sampleCommand: CommandSpec = {
  usage: 'sample',
  settings: 'client',
  summary: 'add a sample collection, the handbook of a fictional company, and show questions to ask',
  options: [
    { flags: '-c, --collection <name>', meaning: 'collection for the documents', default: 'sample' },
    jsonOption,
  ],
  examples: ['quarry sample', 'quarry search --collection sample "how long do refunds take?"'],
  interrupted: 'uploaded files are kept; run the same command again to continue',
  run: addSample,
};

async function addSample(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const collection = String(options.collection);
  const ingestOptions = { ...options, prefix: '', shards: '1', parallel: '4', wait: true, strict: true };
  const code = await ingestCommand.run(context, [sampleFolder], ingestOptions);
  if (code !== exitCodes.done || options.json === true) return code;
  const { out } = context.terminal;
  out('');
  out('Questions to ask:');
  for (const question of sampleQuestions)
    out(`  quarry search --collection ${JSON.stringify(collection)} ${JSON.stringify(question)}`);
  out('');
  out('Delete the sample with:');
  out(`  quarry collections delete ${JSON.stringify(collection)} --yes`);
  return code;
}
