import type { GetCollectionListResponse } from '../schemas/collections.ts';
import type { StatusResponse } from '../schemas/status.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { jsonOption } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { formatMemory, readServerMemory } from './server-memory.ts';
import { printTable } from './terminal.ts';
import { formatBytes, pluralize, toPrintable } from './text-layout.ts';

export const statusCommand: CommandSpec = {
  usage: 'status',
  settings: 'client',
  summary: 'show the number of documents by state and collection, and the memory of the server',
  options: [{ flags: '-c, --collection <name>', meaning: 'only this collection' }, jsonOption],
  examples: ['quarry status', 'quarry status --collection handbook --json'],
  run: status,
};

async function status(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const names =
    options.collection === undefined ? await allCollections(context) : [String(options.collection)];
  const collections: { name: string; status: StatusResponse }[] = [];
  for (const name of names) {
    const reply = await context.api.call<StatusResponse>('status/get-status', { collection_name: name });
    collections.push({ name, status: reply });
  }
  const memory = options.collection === undefined ? await readServerMemory(context.administration) : null;
  if (options.json === true) {
    const lines = collections.map(({ name, status }) => ({ name, ...status }));
    context.terminal.out(JSON.stringify({ collections: lines, ...(memory === null ? {} : { memory }) }));
    return exitCodes.done;
  }
  printCollections(context, collections);
  if (memory !== null) formatMemory(memory).forEach(context.terminal.out);
  return exitCodes.done;
}

function printCollections(
  context: CommandContext,
  collections: readonly { readonly name: string; readonly status: StatusResponse }[],
): void {
  if (collections.length === 0) {
    context.terminal.out('No collections. Create one with `quarry ingest <folder>`.');
    return;
  }
  const headings = ['Collection', '>Documents', '>Parsing', '>Indexing', '>Indexed', '>Failed', '>Text'];
  const rows = collections.map(({ name, status }) => [
    name,
    String(status.num_documents),
    String(status.num_parsing_documents),
    String(status.num_indexing_documents),
    String(status.num_indexed_documents),
    String(status.num_failed_documents),
    formatBytes(status.num_indexed_bytes),
  ]);
  printTable(context.terminal, headings, rows);
  for (const { name, status } of collections) {
    formatModelChanges(status).forEach(context.terminal.out);
    for (const reason of status.waiting_for ?? [])
      context.terminal.out(toPrintable(`Documents of ${name} are waiting. ${reason}`));
  }
}

/** Formats the progress of collections that change their embedding model. */
export function formatModelChanges({ model_changes: changes = [] }: StatusResponse): string[] {
  return changes.map((change) => {
    const { collection_name: name, embedding_model: model, num_documents_done: done } = change;
    const reason = change.waiting_for === undefined ? '' : ` Paused. ${change.waiting_for}`;
    const all = pluralize(change.num_documents, 'document');
    return toPrintable(`${name}: changing the model to ${model}, ${done} of ${all} done.${reason}`);
  });
}

async function allCollections(context: CommandContext): Promise<readonly string[]> {
  const list = await context.api.call<GetCollectionListResponse>('collections/get-collection-list', {});
  return list.collection_names;
}
