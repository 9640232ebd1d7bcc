import { AppError } from '../core/app-error.ts';
import type { GetAliasListResponse } from '../schemas/aliases.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { jsonOption } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { printTable } from './terminal.ts';
import { toPrintable } from './text-layout.ts';

export const aliasCommands: readonly CommandSpec[] = [
  {
    usage: 'aliases list',
    settings: 'client',
    summary: 'list all aliases',
    options: [jsonOption],
    examples: ['quarry aliases list'],
    run: list,
  },
  {
    usage: 'aliases set <assignments...>',
    settings: 'client',
    summary: 'create or change aliases in one step',
    options: [jsonOption],
    examples: [
      'quarry aliases set live=handbook-2',
      'quarry aliases set live=handbook-2 previous=handbook-1',
    ],
    run: set,
  },
  {
    usage: 'aliases delete <names...>',
    settings: 'client',
    summary: 'delete aliases in one step; their collections are unchanged',
    options: [jsonOption],
    examples: ['quarry aliases delete previous'],
    run: remove,
  },
];

async function list(
  { api, terminal }: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const reply = await api.call<GetAliasListResponse>('aliases/get-alias-list', {});
  if (options.json === true) terminal.out(JSON.stringify(reply));
  else if (reply.aliases.length === 0) terminal.out('No aliases found.');
  else {
    const rows = reply.aliases.map(({ alias_name, collection_name }) => [alias_name, collection_name]);
    printTable(terminal, ['Alias', 'Collection'], rows);
  }
  return exitCodes.done;
}

async function set(
  context: CommandContext,
  args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const changes = args.map((assignment) => {
    const [alias_name, collection_name, ...rest] = assignment.split('=');
    if (alias_name && collection_name && rest.length === 0) return { alias_name, collection_name };
    throw new AppError(
      'bad_request',
      `${toPrintable(assignment)} is not an assignment. Write ALIAS=COLLECTION, for example live=handbook.`,
    );
  });
  return await update(context, changes, options);
}

function remove(context: CommandContext, args: readonly string[], options: CommandOptions): Promise<number> {
  const changes = args.map((alias_name) => ({ alias_name, collection_name: null }));
  return update(context, changes, options);
}

async function update(
  { api, terminal }: CommandContext,
  changes: readonly object[],
  options: CommandOptions,
): Promise<number> {
  const reply = await api.call('aliases/update-aliases', { changes });
  const message = `${changes.length} ${changes.length === 1 ? 'alias' : 'aliases'} changed.`;
  terminal.out(options.json === true ? JSON.stringify(reply) : message);
  return exitCodes.done;
}
