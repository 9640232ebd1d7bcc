import type { LoadedSettings } from '../config/settings.ts';
import type { Clock } from '../core/clock.ts';
import type { ApiClient } from './api-client.ts';
import type { Terminal } from './terminal.ts';

/** What every command is handed. */
export interface CommandContext {
  readonly terminal: Terminal;
  readonly loaded: LoadedSettings;
  /** Speaks with the API key; `administration` with the admin key. */
  readonly api: ApiClient;
  readonly administration: ApiClient;
  readonly clock: Clock;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/** Values of flags by their camel-case names, as they were typed. */
export type CommandOptions = Readonly<Record<string, unknown>>;

export interface OptionSpec {
  /** As commander reads it: "-c, --collection <name>". */
  readonly flags: string;
  readonly meaning: string;
  readonly default?: string;
  readonly choices?: readonly string[];
  /** Camel-case names of options that cannot stand beside this one. */
  readonly conflicts?: readonly string[];
}

/** One command as data; `program.ts` turns it into a parser and a help page. */
export interface CommandSpec {
  /** With its arguments: "ingest <paths...>". A space in front of a second word makes a sub-command. */
  readonly usage: string;
  /** Which settings are flags of the command. */
  readonly settings: 'server' | 'client' | 'none';
  readonly summary: string;
  readonly options?: readonly OptionSpec[];
  readonly examples: readonly string[];
  /** What Ctrl-C leaves behind. */
  readonly interrupted?: string;
  /** Resolves with the exit code. `words` are the arguments after the command's name. */
  run(context: CommandContext, args: readonly string[], options: CommandOptions): Promise<number>;
}

export const collectionOption: OptionSpec = {
  flags: '-c, --collection <name>',
  meaning: 'collection',
  default: 'default',
};
export const jsonOption: OptionSpec = { flags: '--json', meaning: 'print JSON for programs' };
export const yesOption: OptionSpec = { flags: '-y, --yes', meaning: 'do not ask' };
