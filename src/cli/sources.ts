import { readFileSync } from 'node:fs';
import { AppError } from '../core/app-error.ts';
import type {
  GetSourceItemListResponse,
  GetSourceListResponse,
  PreviewSourceResponse,
  SourceInfo,
  SourceResponse,
} from '../schemas/sources.ts';
import {
  type CommandContext,
  type CommandOptions,
  type CommandSpec,
  collectionOption,
  jsonOption,
} from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { jsonObjectOption } from './option-values.ts';
import { sendChange } from './send-change.ts';
import { formatTable, pluralize, toPrintable } from './text-layout.ts';

const settingsOptions = [
  {
    flags: '--schedule <time>',
    meaning:
      'an interval (30m, 6h, 1d), a time of day (02:30), a cron expression ("0 3 * * MON-FRI"), or off',
  },
  { flags: '--time-zone <name>', meaning: 'time zone of a time of day or cron expression; default UTC' },
  { flags: '--watch', meaning: 'start a run after each change in the folder' },
  { flags: '--metadata <json>', meaning: 'metadata of all documents of the source' },
  { flags: '--credentials-file <path>', meaning: 'JSON file with the secrets for the origin, by name' },
] as const;

export const sourceCommands: readonly CommandSpec[] = [
  {
    usage: 'sources list',
    settings: 'client',
    summary: 'list all sources with the result of their last run',
    options: [jsonOption],
    examples: ['quarry sources list'],
    run: list,
  },
  {
    usage: 'sources show <source>',
    settings: 'client',
    summary: 'show a source and its failed items',
    options: [jsonOption],
    examples: ['quarry sources show handbook-files'],
    run: show,
  },
  {
    usage: 'sources add <source> <kind> <settings>',
    settings: 'client',
    summary:
      'create a source of the kind directory, s3, website, rss, git, webdav or imap; the settings are JSON, or for a directory its path',
    options: [
      collectionOption,
      { flags: '--prefix <text>', meaning: 'prefix of every document path, for example handbook/' },
      ...settingsOptions,
      jsonOption,
    ],
    examples: [
      'quarry sources add handbook-files directory /srv/handbook --watch',
      'quarry sources add reports s3 \'{"bucket": "reports"}\' -c reports --schedule 6h',
      'quarry sources add guides git \'{"url": "https://example.com/guides.git", "folder": "docs"}\'',
      'quarry sources add cloud webdav \'{"url": "https://cloud.example.com/remote.php/dav/files/ada/"}\' --credentials-file cloud.json',
      'quarry sources add mail imap \'{"host": "mail.example.com"}\' --credentials-file mail.json',
    ],
    run: add,
  },
  {
    usage: 'sources update <source>',
    settings: 'client',
    summary: 'change the schedule, watching, metadata or credentials of a source',
    options: [
      ...settingsOptions,
      { flags: '--no-watch', meaning: 'do not start a run after changes' },
      jsonOption,
    ],
    examples: ['quarry sources update handbook-files --schedule "0 3 * * MON-FRI" --time-zone Europe/Berlin'],
    run: update,
  },
  {
    usage: 'sources sync <source>',
    settings: 'client',
    summary: 'run a source now',
    options: [
      { flags: '--allow-empty', meaning: 'delete all documents if the origin is empty' },
      { flags: '--dry-run', meaning: 'show the changes that a run would make' },
      jsonOption,
    ],
    examples: ['quarry sources sync handbook-files --dry-run'],
    run: sync,
  },
  ...(['pause', 'resume'] as const).map(
    (verb): CommandSpec => ({
      usage: `sources ${verb} <source>`,
      settings: 'client',
      summary:
        verb === 'pause' ? 'stop the runs of a source until it is resumed' : 'end the pause of a source',
      options: [jsonOption],
      examples: [`quarry sources ${verb} handbook-files`],
      run: (context, [source_name], options) =>
        sendChange(context, options, `sources/${verb}-source`, { source_name }),
    }),
  ),
  {
    usage: 'sources delete <source>',
    settings: 'client',
    summary: 'delete a source',
    options: [{ flags: '--documents', meaning: 'also delete its documents' }, jsonOption],
    examples: ['quarry sources delete handbook-files --documents'],
    run: (context, [source_name], options) =>
      sendChange(context, options, 'sources/delete-source', {
        source_name,
        delete_documents: options.documents === true,
      }),
  },
];

async function list(
  { api, terminal }: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const reply = await api.call<GetSourceListResponse>('sources/get-source-list', {});
  if (options.json === true) terminal.out(JSON.stringify(reply));
  else if (reply.sources.length === 0) terminal.out('No sources found.');
  else {
    const rows = reply.sources.map((source) => [
      source.source_name,
      source.kind,
      source.collection_name ?? '(deleted)',
      source.state,
      source.last_run?.outcome ?? '',
      source.last_run?.ended_at ?? '',
    ]);
    formatTable(['Source', 'Kind', 'Collection', 'State', 'Last run', 'At'], rows).forEach(terminal.out);
  }
  return exitCodes.done;
}

async function show(
  { api, terminal }: CommandContext,
  [source_name]: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const { source } = await api.call<SourceResponse>('sources/get-source', { source_name });
  const request = { source_name, only_failed: true, limit: 100 };
  const { items } = await api.call<GetSourceItemListResponse>('sources/get-source-item-list', request);
  if (options.json === true) terminal.out(JSON.stringify({ source, failed_items: items }));
  else {
    describe(source).forEach(terminal.out);
    for (const { path, error } of items)
      terminal.out(`  ${toPrintable(path)}: ${toPrintable(error ?? 'failed')}`);
  }
  return exitCodes.done;
}

function describe(source: SourceInfo): string[] {
  const { running, last_run: last, next_run_at: next, watch_error: watchError } = source;
  return [
    `${toPrintable(source.source_name)}: ${source.kind}, ${source.state}, schedule ${scheduleOf(source)}`,
    ...(running === null ? [] : [`Running since ${running.started_at}: ${countsOf(running.counts)}`]),
    ...(last === null ? [] : [`Last run ${last.outcome} at ${last.ended_at}: ${countsOf(last.counts)}`]),
    ...(last?.error == null ? [] : [toPrintable(last.error)]),
    ...(watchError === null ? [] : [`Not watched: ${toPrintable(watchError)}`]),
    ...(next === null ? [] : [`Next run at ${next}`]),
  ];
}

function scheduleOf({ schedule, time_zone: timeZone }: SourceInfo): string {
  return /^(off|\d+[mhd])$/.test(schedule) ? schedule : `${schedule} ${timeZone}`;
}

function countsOf({ added, updated, deleted, unchanged, failed }: PreviewSourceResponse['counts']): string {
  return `${added} added, ${updated} updated, ${deleted} deleted, ${unchanged} unchanged, ${failed} failed`;
}

async function add(
  context: CommandContext,
  [source_name, kind = '', settings = '']: readonly string[],
  options: CommandOptions,
): Promise<number> {
  return await sendChange(context, options, 'sources/add-source', {
    source_name,
    collection_name: String(options.collection),
    [kind]: parseSettings(kind, settings),
    ...(options.prefix === undefined ? {} : { prefix: String(options.prefix) }),
    ...changesOf(options),
  });
}

function parseSettings(kind: string, settings: string): unknown {
  if (kind === 'directory' && !settings.startsWith('{')) return { path: settings };
  try {
    return JSON.parse(settings) as unknown;
  } catch (cause) {
    throw new AppError(
      'bad_request',
      'The settings must be a JSON object, such as \'{"bucket": "reports"}\'.',
      { cause },
    );
  }
}

function changesOf(options: CommandOptions): object {
  const metadata = jsonObjectOption(options, 'metadata');
  const credentials = readCredentials(options.credentialsFile);
  return {
    ...(options.schedule === undefined ? {} : { schedule: String(options.schedule) }),
    ...(options.timeZone === undefined ? {} : { time_zone: String(options.timeZone) }),
    ...(options.watch === undefined ? {} : { watch: options.watch === true }),
    ...(metadata === null ? {} : { metadata }),
    ...(credentials === null ? {} : { credentials }),
  };
}

/** A file, because the arguments of a process are visible to other users. */
function readCredentials(path: unknown): unknown {
  if (path === undefined) return null;
  try {
    return JSON.parse(readFileSync(String(path), 'utf8')) as unknown;
  } catch (cause) {
    throw new AppError(
      'bad_request',
      `--credentials-file cannot be read as JSON: ${(cause as Error).message}.`,
      { cause },
    );
  }
}

async function update(
  context: CommandContext,
  [source_name]: readonly string[],
  options: CommandOptions,
): Promise<number> {
  return await sendChange(context, options, 'sources/update-source', { source_name, ...changesOf(options) });
}

async function sync(
  context: CommandContext,
  [source_name]: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const { api, terminal } = context;
  if (options.dryRun !== true) {
    const request = { source_name, allow_empty: options.allowEmpty === true };
    return await sendChange(context, options, 'sources/sync-source', request);
  }
  const preview = await api.call<PreviewSourceResponse>('sources/preview-source', { source_name });
  if (options.json === true) terminal.out(JSON.stringify(preview));
  else {
    for (const { action, path, error } of preview.changes)
      terminal.out(`${action} ${toPrintable(path)}${error === null ? '' : `: ${toPrintable(error)}`}`);
    const { added, updated, deleted } = preview.counts;
    terminal.out(`${pluralize(added + updated + deleted, 'change')}${preview.is_complete ? '' : ' so far'}.`);
  }
  return exitCodes.done;
}
