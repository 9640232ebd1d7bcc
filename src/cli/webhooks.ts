import { AppError } from '../core/app-error.ts';
import { changeTypes } from '../core/change-types.ts';
import type {
  ListDeliveriesResponse,
  ListWebhooksResponse,
  TestWebhookResponse,
  WebhookInfo,
  WebhookSecretResponse,
} from '../schemas/webhooks.ts';
import { requireConfirmation } from './collections.ts';
import {
  type CommandContext,
  type CommandOptions,
  type CommandSpec,
  jsonOption,
  yesOption,
} from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { integerOption } from './option-values.ts';
import { sendChange } from './send-change.ts';
import { printTable } from './terminal.ts';
import { toPrintable } from './text-layout.ts';

const exampleId = '0b8f6f7e-6c1d-4a55-9a3e-3f0d8c1b2a47';

const typesOption = {
  flags: '--types <types...>',
  meaning: 'deliver only changes of these types',
  choices: changeTypes,
} as const;
const collectionsOption = {
  flags: '--collections <names...>',
  meaning: 'deliver only changes of these collections',
} as const;
const descriptionOption = { flags: '--description <text>', meaning: 'description of the webhook' } as const;

export const webhookCommands: readonly CommandSpec[] = [
  {
    usage: 'webhooks list',
    settings: 'client',
    summary: 'list all webhooks with their state',
    options: [jsonOption],
    examples: ['quarry webhooks list'],
    run: list,
  },
  {
    usage: 'webhooks create <url>',
    settings: 'client',
    summary: 'create a webhook and print its secret once',
    options: [typesOption, collectionsOption, descriptionOption, jsonOption],
    examples: [
      'quarry webhooks create https://example.com/quarry',
      'quarry webhooks create https://example.com/quarry --types document.indexed document.failed',
    ],
    run: create,
  },
  {
    usage: 'webhooks update <id>',
    settings: 'client',
    summary: 'change, pause or activate a webhook',
    options: [
      // `--url` is the address of the server.
      { flags: '--new-url <url>', meaning: 'URL to which the changes are sent' },
      { ...typesOption, conflicts: ['allTypes'] },
      { flags: '--all-types', meaning: 'deliver changes of all types' },
      { ...collectionsOption, conflicts: ['allCollections'] },
      { flags: '--all-collections', meaning: 'deliver changes of all collections' },
      descriptionOption,
      {
        flags: '--status <status>',
        meaning: 'paused: deliver nothing; active: deliver, also after a failure',
        choices: ['active', 'paused'],
      },
      jsonOption,
    ],
    examples: [
      `quarry webhooks update ${exampleId} --status paused`,
      `quarry webhooks update ${exampleId} --all-types --collections handbook`,
    ],
    run: update,
  },
  {
    usage: 'webhooks delete <id>',
    settings: 'client',
    summary: 'delete a webhook',
    options: [yesOption, jsonOption],
    examples: [`quarry webhooks delete ${exampleId} --yes`],
    run: remove,
  },
  {
    usage: 'webhooks test <id>',
    settings: 'client',
    summary: 'send a test message; the exit code is 1 if it is not accepted',
    options: [jsonOption],
    examples: [`quarry webhooks test ${exampleId}`],
    run: test,
  },
  {
    usage: 'webhooks deliveries <id>',
    settings: 'client',
    summary: 'list the last attempts to deliver changes, the newest first',
    options: [jsonOption],
    examples: [`quarry webhooks deliveries ${exampleId}`],
    run: listDeliveries,
  },
  {
    usage: 'webhooks replay <id>',
    settings: 'client',
    summary: 'deliver all changes again, starting with a sequence number',
    options: [
      { flags: '--from <sequence>', meaning: 'sequence number of the first change; required' },
      jsonOption,
    ],
    examples: [`quarry webhooks replay ${exampleId} --from 42`],
    run: replay,
  },
  {
    usage: 'webhooks rotate-secret <id>',
    settings: 'client',
    summary:
      'create a new secret and print it once; for a day, messages are also signed with the previous one',
    options: [jsonOption],
    examples: [`quarry webhooks rotate-secret ${exampleId}`],
    run: rotateSecret,
  },
];

async function list(
  { api, terminal }: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const reply = await api.call<ListWebhooksResponse>('webhooks/list-webhooks', {});
  if (options.json === true) terminal.out(JSON.stringify(reply));
  else if (reply.webhooks.length === 0) terminal.out('No webhooks found.');
  else {
    const titles = ['ID', 'URL', 'Types', 'Collections', 'Status', '>Sequence', 'Details'];
    const rows = reply.webhooks.map((webhook) => [
      webhook.webhook_id,
      webhook.url,
      webhook.types?.join(', ') ?? 'all',
      webhook.collection_names?.join(', ') ?? 'all',
      webhook.status,
      String(webhook.sequence),
      describeState(webhook),
    ]);
    printTable(terminal, titles, rows);
  }
  return exitCodes.done;
}

function describeState({
  failure,
  failed_attempts: failed,
  next_attempt_at: next,
  description,
}: WebhookInfo) {
  if (failure !== null) return failure;
  if (failed === 0) return description;
  return `attempt ${failed + 1} at ${next}`;
}

async function create(
  context: CommandContext,
  [url]: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const reply = await context.api.call<WebhookSecretResponse>('webhooks/add-webhook', {
    url,
    ...fieldsOf(options),
  });
  if (options.json === true) context.terminal.out(JSON.stringify(reply));
  else {
    context.terminal.note(`Webhook ${reply.webhook_id} created. Its secret, which is not shown again:\n`);
    context.terminal.out(reply.secret);
  }
  return exitCodes.done;
}

async function rotateSecret(
  { api, terminal }: CommandContext,
  [webhook_id]: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const reply = await api.call<WebhookSecretResponse>('webhooks/rotate-webhook-secret', { webhook_id });
  if (options.json === true) terminal.out(JSON.stringify(reply));
  else {
    terminal.note('The new secret, which is not shown again:\n');
    terminal.out(reply.secret);
  }
  return exitCodes.done;
}

/** Fields of a webhook that the options set; a list of null stands for everything. */
function fieldsOf(options: CommandOptions): object {
  const types = options.allTypes === true ? null : options.types;
  const collections = options.allCollections === true ? null : options.collections;
  return {
    ...(types === undefined ? {} : { types }),
    ...(collections === undefined ? {} : { collection_names: collections }),
    ...(options.description === undefined ? {} : { description: options.description }),
  };
}

async function update(
  context: CommandContext,
  [webhook_id]: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const changes = {
    ...fieldsOf(options),
    ...(options.newUrl === undefined ? {} : { url: options.newUrl }),
    ...(options.status === undefined ? {} : { status: options.status }),
  };
  if (Object.keys(changes).length === 0)
    throw new AppError('bad_request', 'Nothing to change. See `quarry webhooks update --help`.');
  return await sendChange(context, options, 'webhooks/update-webhook', { webhook_id, ...changes });
}

async function remove(
  context: CommandContext,
  [webhook_id = '']: readonly string[],
  options: CommandOptions,
): Promise<number> {
  if (options.yes !== true)
    await requireConfirmation(context, `Delete the webhook ${toPrintable(webhook_id)}?`);
  return await sendChange(context, options, 'webhooks/delete-webhook', { webhook_id });
}

async function replay(
  context: CommandContext,
  [webhook_id]: readonly string[],
  options: CommandOptions,
): Promise<number> {
  if (options.from === undefined)
    throw new AppError(
      'bad_request',
      'Set --from to the sequence number of the first change to deliver again.',
    );
  const sequence = integerOption(options, 'from', { minimum: 1, maximum: 999_999_999 });
  return await sendChange(context, options, 'webhooks/replay-webhook', { webhook_id, sequence });
}

async function test(
  { api, terminal }: CommandContext,
  [webhook_id]: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const reply = await api.call<TestWebhookResponse>('webhooks/test-webhook', { webhook_id });
  const { delivered, status, error, milliseconds } = reply;
  if (options.json === true) terminal.out(JSON.stringify(reply));
  else if (delivered) terminal.out(`Accepted with the status ${status} after ${milliseconds} ms.`);
  else terminal.out(`Not accepted: ${toPrintable(error ?? `status ${status}`)}`);
  return delivered ? exitCodes.done : exitCodes.failed;
}

async function listDeliveries(
  { api, terminal }: CommandContext,
  [webhook_id]: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const reply = await api.call<ListDeliveriesResponse>('webhooks/list-deliveries', { webhook_id });
  if (options.json === true) terminal.out(JSON.stringify(reply));
  else if (reply.deliveries.length === 0) terminal.out('No deliveries yet.');
  else {
    const titles = ['At', '>Sequence', 'Type', '>Status', '>ms', 'Error'];
    const rows = reply.deliveries.map(({ attempted_at, sequence, type, status, milliseconds, error }) => [
      attempted_at,
      String(sequence),
      type,
      status === null ? '' : String(status),
      String(milliseconds),
      error ?? '',
    ]);
    printTable(terminal, titles, rows);
  }
  return exitCodes.done;
}
