import { Command, CommanderError, Option } from 'commander';
import { findSetting, flagName, type SettingName, settingNames } from '../config/schema.ts';
import { describeAllowedValues } from '../config/value.ts';
import { AppError } from '../core/app-error.ts';
import { aliasCommands } from './aliases.ts';
import { answerCommand } from './answer.ts';
import { auditCommands } from './audit.ts';
import { backupCommands } from './backup.ts';
import { billingCommands } from './billing.ts';
import { changesCommand } from './changes.ts';
import { clusterCommands } from './cluster.ts';
import { collectionCommands } from './collections.ts';
import type { CommandOptions, CommandSpec } from './command.ts';
import { type CompletionEntry, createCompletionCommand } from './completion.ts';
import { doctorCommand } from './doctor.ts';
import { documentChangeCommands } from './document-changes.ts';
import { documentCommands } from './documents.ts';
import { evalCommand } from './eval.ts';
import { exitCodeMeanings } from './exit-codes.ts';
import { ingestCommand } from './ingest.ts';
import { keyCommands } from './keys.ts';
import { configCommand, serveCommand, versionCommand, versionLine } from './local-commands.ts';
import { logsCommand } from './logs.ts';
import { mcpCommand } from './mcp.ts';
import { modelCommands } from './models.ts';
import { openCommand } from './open.ts';
import { sampleCommand } from './sample.ts';
import { searchCommand } from './search.ts';
import { signInCommands } from './sign-in-commands.ts';
import { sourceCommands } from './sources.ts';
import { statusCommand } from './status.ts';
import { suggestCommand } from './suggest.ts';
import { exportCommand } from './transfer/export.ts';
import { importCommand } from './transfer/import.ts';
import { upgradeCommand } from './upgrade.ts';
import { usageCommand } from './usage.ts';
import { userCommands } from './users.ts';
import { webhookCommands } from './webhooks.ts';

/** Command, arguments and options parsed from a command line. */
export interface Invocation {
  readonly spec: CommandSpec;
  readonly args: readonly string[];
  readonly options: CommandOptions;
}

export const commands: readonly CommandSpec[] = [
  serveCommand,
  openCommand,
  sampleCommand,
  ingestCommand,
  importCommand,
  exportCommand,
  searchCommand,
  suggestCommand,
  answerCommand,
  mcpCommand,
  evalCommand,
  statusCommand,
  ...collectionCommands,
  ...aliasCommands,
  ...sourceCommands,
  changesCommand,
  ...webhookCommands,
  ...documentCommands,
  ...documentChangeCommands,
  ...keyCommands,
  ...userCommands,
  ...modelCommands,
  ...auditCommands,
  ...backupCommands,
  ...clusterCommands,
  ...billingCommands,
  usageCommand,
  doctorCommand,
  logsCommand,
  upgradeCommand,
  ...signInCommands,
  configCommand,
  createCompletionCommand(listCompletionEntries),
  versionCommand,
];

/** Descriptions of command groups by the first word of their two-word commands. */
export const commandGroups: Readonly<Record<string, string>> = {
  collections: 'list, add, change, copy, rename and delete collections',
  aliases: 'list, set and delete aliases of collections',
  sources: 'list, add, run, pause and delete sources of documents',
  webhooks: 'list, create, change, test, replay and delete webhooks',
  documents: 'list, add, show, update, delete and retry documents',
  keys: 'list, create, change and revoke API keys (needs the admin key)',
  users: 'list, disable and delete users, and end their sessions (needs the admin key)',
  audit: 'export the audit log',
  backup: 'create, list, verify, restore and prune backups',
  cluster: 'move the data of a server to PostgreSQL',
  billing: 'set up or check a Stripe account for payments',
  models: 'search, download, list, add, remove and test models',
};

const clientSettings: readonly SettingName[] = ['url', 'apiKey', 'adminKey', 'organization'];

/**
 * Parses a command line (without node and script). Returns null if help or the version was printed. Errors:
 * AppError `bad_request` for wrong usage.
 */
export async function parseCommandLine(
  args: readonly string[],
  out: (text: string) => void,
): Promise<Invocation | null> {
  let invocation: Invocation | null = null;
  const program = buildProgram(findNamedCommands(args), out, (parsed) => {
    invocation = parsed;
  });
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return null;
  }
  return invocation;
}

/**
 * Converts wrong usage of the command `name` into an error with its help page. Help and version, which are
 * not errors, end the parsing.
 */
function rejectUsage(name: string): (error: CommanderError) => never {
  return (error) => {
    if (error.exitCode === 0) throw error;
    const message =
      error.code === 'commander.help'
        ? 'No command given; see the list above.'
        : `${error.message.replace(/^error: /, '')} (see \`${name} --help\`)`;
    throw new AppError('bad_request', message, { cause: error });
  };
}

/**
 * Returns the commands whose names are among the words; all if there are none, as for the general help. Only they get
 * options: those of all commands take as long as loading the largest package of the server.
 */
function findNamedCommands(args: readonly string[]): ReadonlySet<CommandSpec> {
  const named = commands.filter((spec) =>
    commandName(spec)
      .split(' ')
      .every((word) => args.includes(word)),
  );
  return new Set(named.length > 0 ? named : commands);
}

function buildProgram(
  named: ReadonlySet<CommandSpec>,
  out: (text: string) => void,
  onInvocation: (invocation: Invocation) => void,
): Command {
  const program = new Command('quarry')
    .description(
      'Quarry stores documents and finds the snippets, pages and documents that answer a question.',
    )
    .version(versionLine(), '-V, --version', 'show the version')
    .exitOverride(rejectUsage('quarry'))
    .configureOutput({ writeOut: out, writeErr: out, outputError: () => undefined })
    .showSuggestionAfterError()
    .addHelpText('after', () => `\n${generalHelp()}`);
  const parents = new Map<string, Command>();
  for (const spec of commands) {
    const [first = '', second = ''] = spec.usage.split(' ');
    if (commandGroups[first] === undefined) {
      addCommand(program, { spec, usage: spec.usage, hasOptions: named.has(spec) }, onInvocation);
      continue;
    }
    const parent =
      parents.get(first) ??
      program
        .command(first)
        .description(commandGroups[first])
        .exitOverride(rejectUsage(`quarry ${first}`));
    parents.set(first, parent);
    const usage = spec.usage.slice(spec.usage.indexOf(second));
    addCommand(parent, { spec, usage, hasOptions: named.has(spec) }, onInvocation);
  }
  return program;
}

function addCommand(
  parent: Command,
  {
    spec,
    usage,
    hasOptions,
  }: { readonly spec: CommandSpec; readonly usage: string; readonly hasOptions: boolean },
  onInvocation: (invocation: Invocation) => void,
): void {
  const name = `quarry ${commandName(spec)}`;
  const command = parent.command(usage).description(spec.summary).exitOverride(rejectUsage(name));
  if (hasOptions) for (const option of commandOptions(spec)) command.addOption(option);
  command.addHelpText('after', `\nExamples:\n${spec.examples.map((example) => `  ${example}`).join('\n')}`);
  command.action((...values: unknown[]) => {
    const words = values
      .slice(0, -2)
      .flat()
      .filter((word) => word !== undefined) as string[];
    onInvocation({ spec, args: words, options: command.opts() });
  });
}

function commandName(spec: CommandSpec): string {
  return spec.usage.replace(/ *[<[].*/, '');
}

function commandOptions(spec: CommandSpec): Option[] {
  const options = (spec.options ?? []).map((option) => {
    const commanderOption = new Option(option.flags, option.meaning);
    if (option.isRepeatable === true) collectValues(commanderOption, option.default);
    else if (option.default !== undefined) commanderOption.default(option.default);
    if (option.choices !== undefined) commanderOption.choices(option.choices);
    if (option.conflicts !== undefined) commanderOption.conflicts([...option.conflicts]);
    return commanderOption;
  });
  return [...options, ...settingOptions(spec)];
}

/** Makes the value of an option an array. A given value replaces the default. */
function collectValues(option: Option, defaultValue: string | undefined): void {
  const defaults = defaultValue === undefined ? undefined : [defaultValue];
  if (defaults !== undefined) option.default(defaults, JSON.stringify(defaultValue));
  option.argParser((value: string, previous: string[] | undefined) =>
    previous === undefined || previous === defaults ? [value] : [...previous, value],
  );
}

function listCompletionEntries(): CompletionEntry[] {
  return commands.map((spec) => {
    const options = commandOptions(spec);
    const flags = options.flatMap(({ short, long }) => [short, long].filter((flag) => flag != null));
    return {
      name: commandName(spec),
      summary: spec.summary,
      flags: [...flags, '--help'],
      choices: options.flatMap(({ argChoices, long }) =>
        argChoices === undefined || long == null ? [] : [{ flag: long, values: argChoices }],
      ),
    };
  });
}

function settingOptions(spec: CommandSpec): Option[] {
  if (spec.settings === 'none') return [];
  const isClient = (name: SettingName) => name === 'url' || name === 'organization';
  const names = spec.settings === 'client' ? clientSettings : settingNames.filter((name) => !isClient(name));
  const options = names.map((name) => {
    const setting = findSetting(name);
    // The key has a short flag, because it is typed most often; other flags are named as their settings.
    const flag = spec.settings === 'client' && name === 'apiKey' ? '--key, --api-key' : flagName(name);
    const isBoolean = setting.kind === 'switch';
    return new Option(
      `${flag} ${isBoolean ? '[value]' : '<value>'}`,
      `${setting.meaning} (${describeAllowedValues(name)})`,
    );
  });
  return [...options, new Option('--config <file>', 'JSON file with settings')];
}

function generalHelp(): string {
  const codes = exitCodeMeanings.map(([code, meaning]) => `  ${String(code).padEnd(5)}${meaning}`);
  return [
    'Start:',
    '  quarry serve                              run the server (like npm start)',
    '  quarry open                               open the dashboard, signed in',
    '  quarry sample                             add a sample collection and show questions',
    '  quarry ingest docs/                       add a folder',
    '  quarry search "how long do refunds take?"',
    '',
    'Client commands use the server at --url or QUARRY_URL and the key in --key or QUARRY_API_KEY.',
    '`quarry <command> --help` shows flags and examples; `quarry config` shows all settings.',
    '`quarry build` installs and builds missing parts without starting the server.',
    '',
    'Exit codes:',
    ...codes,
  ].join('\n');
}
