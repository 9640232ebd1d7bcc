import type { LoadedSettings } from '../config/settings.ts';
import type { Clock } from '../core/clock.ts';
import type { ApiClient } from './api-client.ts';
import type { Terminal } from './terminal.ts';

/** Dependencies passed to every command. */
export interface CommandContext {
  readonly terminal: Terminal;
  readonly loaded: LoadedSettings;
  /** Client with the API key; `administration` is the client with the admin key. */
  readonly api: ApiClient;
  readonly administration: ApiClient;
  readonly clock: Clock;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/** Option values by camel-case name, as typed. */
export type CommandOptions = Readonly<Record<string, unknown>>;

export interface OptionSpec {
  /** Flags in commander syntax: "-c, --collection <name>". */
  readonly flags: string;
  readonly meaning: string;
  readonly default?: string;
  readonly choices?: readonly string[];
  /** The option may be given several times; its value is an array. */
  readonly isRepeatable?: true;
  /** Camel-case names of options that exclude this one. */
  readonly conflicts?: readonly string[];
}

/** Declaration of a command; `program.ts` converts it into a parser and a help page. */
export interface CommandSpec {
  /**
   * Name with its arguments: "ingest <paths...>". Two words define a subcommand if the first is a key of
   * `commandGroups`.
   */
  readonly usage: string;
  /** Settings that are flags of the command. */
  readonly settings: 'server' | 'client' | 'none';
  readonly summary: string;
  readonly options?: readonly OptionSpec[];
  readonly examples: readonly string[];
  /** State that remains after Ctrl-C, for the message to the user. */
  readonly interrupted?: string;
  /** Runs the command. Resolves with the exit code. `args` are the arguments after the command's name. */
  run(context: CommandContext, args: readonly string[], options: CommandOptions): Promise<number>;
}

export const collectionOption: OptionSpec = {
  flags: '-c, --collection <name>',
  meaning: 'collection',
  default: 'default',
};
export const jsonOption: OptionSpec = { flags: '--json', meaning: 'print JSON' };
export const yesOption: OptionSpec = { flags: '-y, --yes', meaning: 'do not ask for confirmation' };
