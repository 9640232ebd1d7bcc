import type { GetCollectionListResponse } from '../schemas/collections.ts';
import type { StatusResponse } from '../schemas/status.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { jsonOption } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { byteWords, table } from './layout.ts';

export const statusCommand: CommandSpec = {
  usage: 'status',
  settings: 'client',
  summary: 'show how many documents are parsed, indexed and failed, by collection',
  options: [{ flags: '-c, --collection <name>', meaning: 'only this collection' }, jsonOption],
  examples: ['quarry status', 'quarry status --collection handbook --json'],
  run: status,
};

async function status(
  context: CommandContext,
  _words: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const names =
    options.collection === undefined ? await allCollections(context) : [String(options.collection)];
  const collections: { name: string; status: StatusResponse }[] = [];
  for (const name of names) {
    const reply = await context.api.call<StatusResponse>('status/get-status', { collection_name: name });
    collections.push({ name, status: reply });
  }
  if (options.json === true) {
    context.terminal.out(
      JSON.stringify({ collections: collections.map(({ name, status }) => ({ name, ...status })) }),
    );
    return exitCodes.done;
  }
  if (collections.length === 0) {
    context.terminal.out('There is no collection yet. `quarry ingest <folder>` makes one.');
    return exitCodes.done;
  }
  const headings = ['Collection', '>Documents', '>Parsing', '>Indexing', '>Indexed', '>Failed', '>Text'];
  const rows = collections.map(({ name, status }) => [
    name,
    String(status.num_documents),
    String(status.num_parsing_documents),
    String(status.num_indexing_documents),
    String(status.num_indexed_documents),
    String(status.num_failed_documents),
    byteWords(status.num_indexed_bytes),
  ]);
  table(headings, rows).forEach(context.terminal.out);
  return exitCodes.done;
}

async function allCollections(context: CommandContext): Promise<readonly string[]> {
  const list = await context.api.call<GetCollectionListResponse>('collections/get-collection-list', {});
  return list.collection_names;
}
