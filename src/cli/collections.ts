import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../core/app-error.ts';
import { limits, shardCounts } from '../core/limits.ts';
import type { CloneCollectionResponse, GetCollectionListResponse } from '../schemas/collections.ts';
import type { StatusResponse } from '../schemas/status.ts';
import {
  changedSettingOptions,
  describeSettings,
  newSettingOptions,
  readSettings,
} from './collection-settings.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { jsonOption, yesOption } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { controlOptions, integerOption, readControlOptions } from './option-values.ts';
import { ProgressBar } from './progress.ts';
import { formatModelChanges } from './status.ts';
import { pluralize, toPrintable } from './text-layout.ts';

export const collectionCommands: readonly CommandSpec[] = [
  {
    usage: 'collections list',
    settings: 'client',
    summary: 'list all collections',
    options: [jsonOption],
    examples: ['quarry collections list'],
    run: list,
  },
  {
    usage: 'collections add <name>',
    settings: 'client',
    summary: 'create a collection',
    options: [
      {
        flags: '--shards <count>',
        meaning: `one of ${shardCounts.join(', ')}; cannot be changed later`,
        default: '1',
      },
      { flags: '--model <name>', meaning: 'embedding model; own: you supply the vectors' },
      { flags: '--dimensions <count>', meaning: 'dimensions of the vectors, with --model own' },
      ...newSettingOptions,
      jsonOption,
    ],
    examples: [
      'quarry collections add handbook',
      'quarry collections add archive --shards 16',
      'quarry collections add vectors --model own --dimensions 768',
      'quarry collections add news --metadata-schema \'{"published": "date", "year": "number"}\'',
    ],
    run: add,
  },
  {
    usage: 'collections update <name>',
    settings: 'client',
    summary:
      'change the query defaults and other settings of a collection; without options, remove the query defaults',
    options: [...controlOptions, ...changedSettingOptions, jsonOption],
    examples: [
      'quarry collections update handbook --max-per-document 1 --weights 1:0.8',
      'quarry collections update news --default-ttl 2592000',
      'quarry collections update handbook --synonyms refund,reimbursement --synonyms k8s,kubernetes',
      'quarry collections update handbook --stop-words acme,inc',
      'quarry collections update handbook --curations \'[{"queries": ["refund"], "pinned": ["faq/refunds.md"]}]\'',
    ],
    run: update,
  },
  {
    usage: 'collections change-model <name> <model>',
    settings: 'client',
    summary:
      're-embed a collection with another model; the old vectors are used until the new ones are complete',
    options: [{ flags: '--no-wait', meaning: 'do not wait for completion' }, jsonOption],
    examples: ['quarry collections change-model handbook bge-small-en-v1.5'],
    interrupted: 'the server continues; run `quarry status` for progress',
    run: changeModel,
  },
  {
    usage: 'collections clone <name> <new-name>',
    settings: 'client',
    summary: 'copy a collection; nothing is parsed or embedded again',
    options: [{ flags: '--continue', meaning: 'continue an interrupted copy' }, jsonOption],
    examples: ['quarry collections clone handbook handbook-test'],
    interrupted: 'use --continue to copy the rest',
    run: clone,
  },
  {
    usage: 'collections rename <name> <new-name>',
    settings: 'client',
    summary: 'change the name of a collection',
    options: [jsonOption],
    examples: ['quarry collections rename handbook manual'],
    run: rename,
  },
  {
    usage: 'collections delete <name>',
    settings: 'client',
    summary: 'delete a collection with all its documents',
    options: [yesOption, jsonOption],
    examples: ['quarry collections delete archive --yes'],
    run: remove,
  },
];

const pollMs = 500;

/** Starts a model change and follows it until it ends; Ctrl-C leaves it running on the server. */
async function changeModel(
  context: CommandContext,
  args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const [name = '', model = ''] = args;
  const { api, clock, terminal } = context;
  const body = { collection_name: name, embedding_model: model };
  const reply = await api.call('collections/change-model', body);
  if (options.wait === false) {
    const message = `Re-embedding of ${toPrintable(name)} started. Run \`quarry status\` for progress.`;
    terminal.out(options.json === true ? JSON.stringify(reply) : message);
    return exitCodes.done;
  }
  const progress = new ProgressBar('Re-embedding', terminal, clock);
  let lastReason: string | undefined;
  for (;;) {
    const status = await api.call<StatusResponse>('status/get-status', { collection_name: name });
    const change = status.model_changes?.[0];
    if (change === undefined) {
      progress.finish(toPrintable(`${name} now uses the model ${status.embedding_model}.`));
      if (options.json === true) terminal.out(JSON.stringify(status));
      return exitCodes.done;
    }
    const { num_documents_done: done, num_documents: total, waiting_for: reason } = change;
    if (reason !== undefined && reason !== lastReason) terminal.note(`${toPrintable(`Paused. ${reason}`)}\n`);
    lastReason = reason;
    progress.update({ done, total, label: `${done}/${pluralize(total, 'document')}` });
    await sleep(pollMs, undefined, { signal: api.signal });
  }
}

async function list(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const reply = await context.api.call<GetCollectionListResponse>('collections/get-collection-list', {});
  if (options.json === true) context.terminal.out(JSON.stringify(reply));
  else {
    reply.collection_names.map(toPrintable).forEach(context.terminal.out);
    const status = await context.api.call<StatusResponse>('status/get-status', {});
    for (const line of formatModelChanges(status)) context.terminal.note(`${line}\n`);
  }
  return exitCodes.done;
}

async function add(
  context: CommandContext,
  args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const name = args[0]!;
  const reply = await context.api.call('collections/add-collection', {
    collection_name: name,
    num_shards: integerOption(options, 'shards', { minimum: 1, maximum: 64 }),
    ...(options.model === undefined ? {} : { embedding_model: String(options.model) }),
    ...(options.dimensions === undefined
      ? {}
      : {
          dimensions: integerOption(options, 'dimensions', {
            minimum: 1,
            maximum: limits.ownVectorDimensionsMax,
          }),
        }),
    ...readSettings(options, { ttlMin: 1 }),
  });
  context.terminal.out(
    options.json === true ? JSON.stringify(reply) : `Collection ${toPrintable(name)} created.`,
  );
  return exitCodes.done;
}

async function update(
  context: CommandContext,
  args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const name = args[0]!;
  const defaults = readControlOptions(options);
  const settings = readSettings(options, { ttlMin: 0 });
  const hasDefaults = Object.keys(defaults).length > 0;
  const changesDefaults = hasDefaults || Object.keys(settings).length === 0;
  const reply = await context.api.call('collections/update-collection', {
    collection_name: name,
    ...(changesDefaults ? { query_defaults: defaults } : {}),
    ...settings,
  });
  const description = hasDefaults ? JSON.stringify(defaults) : 'none';
  const lines = [
    ...(changesDefaults ? [`Query defaults of ${name}: ${description}`] : []),
    ...describeSettings(name, settings),
  ];
  if (options.json === true) context.terminal.out(JSON.stringify(reply));
  else lines.map(toPrintable).forEach(context.terminal.out);
  return exitCodes.done;
}

async function clone(
  { api, terminal, clock }: CommandContext,
  args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const [name = '', newName = ''] = args;
  const { num_documents: total } = await api.call<StatusResponse>('status/get-status', {
    collection_name: name,
  });
  const progress = new ProgressBar('Copying', terminal, clock);
  let copied = 0;
  for (let after: string | null = options.continue === true ? '' : null; ; ) {
    const reply: CloneCollectionResponse = await api.call('collections/clone-collection', {
      collection_name: name,
      new_collection_name: newName,
      path_gt: after,
    });
    copied += reply.num_documents;
    after = reply.path_gt;
    if (after === null) break;
    progress.update({ done: copied, total: Math.max(copied, total), label: pluralize(copied, 'document') });
  }
  progress.finish(`${pluralize(copied, 'document')} copied to ${toPrintable(newName)}.`);
  if (options.json === true) terminal.out(JSON.stringify({ copied }));
  return exitCodes.done;
}

async function rename(
  { api, terminal }: CommandContext,
  args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const [name = '', newName = ''] = args;
  const request = { collection_name: name, new_collection_name: newName };
  const reply = await api.call('collections/rename-collection', request);
  const message = `Collection ${toPrintable(name)} renamed to ${toPrintable(newName)}.`;
  terminal.out(options.json === true ? JSON.stringify(reply) : message);
  return exitCodes.done;
}

async function remove(
  context: CommandContext,
  args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const name = args[0]!;
  if (options.yes !== true)
    await requireConfirmation(context, `Delete the collection ${toPrintable(name)} with all its documents?`);
  const reply = await context.api.call('collections/delete-collection', { collection_name: name });
  context.terminal.out(
    options.json === true ? JSON.stringify(reply) : `Collection ${toPrintable(name)} deleted.`,
  );
  return exitCodes.done;
}

/** Asks for confirmation. Errors: AppError `bad_request` if the user declines or there is no terminal. */
export async function requireConfirmation(context: CommandContext, question: string): Promise<void> {
  const answer = await context.terminal.confirm(question);
  if (answer === null)
    throw new AppError(
      'bad_request',
      'Cannot ask for confirmation without a terminal. Use --yes to skip it.',
    );
  if (!answer) throw new AppError('bad_request', 'Nothing was changed.');
}
