import { AppError } from '../core/app-error.ts';
import type { AdminAddAPIKeyResponse, APIKeyInfo, ListAPIKeysResponse } from '../schemas/admin.ts';
import { keyPermissions } from '../schemas/principal.ts';
import { requireConfirmation } from './collections.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { jsonOption, yesOption } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { jsonObjectOption, timeOption } from './option-values.ts';
import { printTable } from './terminal.ts';

export const keyCommands: readonly CommandSpec[] = [
  {
    usage: 'keys list',
    settings: 'client',
    summary: 'list the API keys of an organization, masked (needs the admin key)',
    options: [jsonOption],
    examples: ['QUARRY_ADMIN_KEY=... quarry keys list'],
    run: list,
  },
  {
    usage: 'keys add <name>',
    settings: 'client',
    summary: 'create an API key and print it once (needs the admin key)',
    options: [
      { flags: '--read-only', meaning: 'the key can search and read, but not write' },
      { flags: '--collections <names...>', meaning: 'restrict the key to these collections' },
      { flags: '--filter <json>', meaning: 'restrict the key to documents with matching metadata' },
      { flags: '--expires <time>', meaning: 'expiry time of the key, for example 2027-01-01' },
      { flags: '--origins <origins...>', meaning: 'let web pages of these origins use the key' },
      jsonOption,
    ],
    examples: [
      'quarry keys add website --read-only',
      'quarry keys add acme --collections handbook faq --filter \'{"tenant": "acme"}\'',
      'quarry keys add site --read-only --collections handbook --origins https://www.example.com',
    ],
    run: add,
  },
  {
    usage: 'keys update <id>',
    settings: 'client',
    summary: 'change an API key (needs the admin key)',
    options: [
      { flags: '--name <name>', meaning: 'new name' },
      { flags: '--permission <permission>', meaning: 'new permission', choices: keyPermissions },
      { flags: '--origins <origins...>', meaning: 'let web pages of only these origins use the key' },
      { flags: '--no-origins', meaning: 'let no web pages use the key' },
      jsonOption,
    ],
    examples: [
      'quarry keys update 6f0c3c2e-1f0b-4b62-9a0a-0c7d7b0f2d11 --origins https://www.example.com',
      'quarry keys update 6f0c3c2e-1f0b-4b62-9a0a-0c7d7b0f2d11 --no-origins',
    ],
    run: update,
  },
  {
    usage: 'keys delete <id>',
    settings: 'client',
    summary: 'revoke an API key (needs the admin key)',
    options: [yesOption, jsonOption],
    examples: ['quarry keys delete 6f0c3c2e-1f0b-4b62-9a0a-0c7d7b0f2d11 --yes'],
    run: remove,
  },
];

/** Returns the organization id from the settings. Errors: AppError `bad_request` if it is not set. */
function requireOrganization(context: CommandContext): { organization_id: string } {
  const id = context.loaded.settings.organization;
  if (id !== null) return { organization_id: id };
  throw new AppError(
    'bad_request',
    'No organization selected. Set --organization or QUARRY_ORGANIZATION. The server prints the ID of its first organization at startup.',
  );
}

/** Summarizes the documents that a key may access. */
function describeAccess({ restriction }: Partial<APIKeyInfo>): string {
  const names = restriction?.collection_names?.join(', ') ?? 'everything';
  return restriction?.filter ? `${names} where ${JSON.stringify(restriction.filter)}` : names;
}

function toRestriction(options: CommandOptions): object {
  const names = (options.collections as readonly string[] | undefined) ?? null;
  const filter = jsonObjectOption(options, 'filter');
  return names === null && filter === null ? {} : { restriction: { collection_names: names, filter } };
}

/** `--no-origins` sets the option to false. */
function toAllowedOrigins({ origins }: CommandOptions): object {
  if (Array.isArray(origins)) return { allowed_origins: origins };
  return origins === false ? { allowed_origins: [] } : {};
}

async function list(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const reply = await context.administration.call<ListAPIKeysResponse>(
    'admin/list-api-keys',
    requireOrganization(context),
  );
  if (options.json === true) {
    context.terminal.out(JSON.stringify(reply));
    return exitCodes.done;
  }
  const rows = reply.api_keys.map((key) => [
    key.id,
    key.name,
    key.permission,
    describeAccess(key),
    key.api_key,
    key.allowed_origins.join(', ') || 'none',
    key.created_at,
    key.expires_at ?? 'never',
    key.last_used_at ?? 'never',
  ]);
  const titles = ['ID', 'Name', 'Permission', 'Access', 'Key', 'Origins', 'Created', 'Expires', 'Last used'];
  printTable(context.terminal, titles, rows);
  return exitCodes.done;
}

async function add(
  context: CommandContext,
  args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const reply = await context.administration.call<AdminAddAPIKeyResponse>('admin/add-api-key', {
    ...requireOrganization(context),
    name: args[0]!,
    permission: options.readOnly === true ? 'read_only' : 'all',
    ...(options.expires === undefined ? {} : { expires_at: timeOption(options, 'expires') }),
    ...toRestriction(options),
    ...toAllowedOrigins(options),
  });
  if (options.json === true) {
    context.terminal.out(JSON.stringify(reply));
    return exitCodes.done;
  }
  context.terminal.out(reply.api_key);
  context.terminal.note('Save the key now; it is not shown again.\n');
  return exitCodes.done;
}

async function update(
  context: CommandContext,
  args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const id = args[0]!;
  const changes = {
    ...(options.name === undefined ? {} : { name: options.name }),
    ...(options.permission === undefined ? {} : { permission: options.permission }),
    ...toAllowedOrigins(options),
  };
  if (Object.keys(changes).length === 0)
    throw new AppError('bad_request', 'Nothing to change. See `quarry keys update --help`.');
  const request = { ...requireOrganization(context), api_key_id: id, ...changes };
  const reply = await context.administration.call('admin/update-api-key', request);
  context.terminal.out(options.json === true ? JSON.stringify(reply) : `Key ${id} changed.`);
  return exitCodes.done;
}

async function remove(
  context: CommandContext,
  args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const id = args[0]!;
  if (options.yes !== true)
    await requireConfirmation(context, `Revoke the key ${id}? Programs that use it will stop working.`);
  const reply = await context.administration.call('admin/delete-api-key', {
    ...requireOrganization(context),
    api_key_id: id,
  });
  context.terminal.out(options.json === true ? JSON.stringify(reply) : `Key ${id} revoked.`);
  return exitCodes.done;
}
