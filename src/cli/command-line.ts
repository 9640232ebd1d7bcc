import { loadSettings, type SettingSources } from '../config/settings.ts';
import { systemClock } from '../core/clock.ts';
import { ApiClient } from './api-client.ts';
import { exitCodes, toExitOutcome } from './exit-codes.ts';
import { type Invocation, parseCommandLine } from './program.ts';
import type { Terminal } from './terminal.ts';

/** The process in which a command runs, or a test in its place. */
export interface CommandHost {
  readonly terminal: Terminal;
  /** Writes help and version to standard output, as they are. */
  print(text: string): void;
  /** Sources of the settings, with the flags of the command line. */
  readSources(flags: Readonly<Record<string, unknown>>): SettingSources;
  /** Signal that ends a command early; not used by `serve`, which handles signals itself. */
  createInterruptSignal(): AbortSignal;
}

/** Runs a command line (without node and script) to its end. Returns the exit code. Throws only for bugs. */
export async function runCommandLine(words: readonly string[], host: CommandHost): Promise<number> {
  const { terminal } = host;
  let signal: AbortSignal | null = null;
  let invocation: Invocation | null = null;
  try {
    invocation = await parseCommandLine(words, host.print);
    if (invocation === null) return exitCodes.done;
    signal = invocation.spec.usage === 'serve' ? new AbortController().signal : host.createInterruptSignal();
    return await run(invocation, host, signal);
  } catch (error) {
    if (signal?.aborted === true) {
      const left = invocation?.spec.interrupted;
      terminal.note(`quarry: interrupted${left === undefined ? '' : `; ${left}`}\n`);
      return exitCodes.interrupted;
    }
    const outcome = toExitOutcome(error);
    if (outcome === null) throw error;
    terminal.note(`quarry: ${outcome.message}\n`);
    return outcome.exitCode;
  }
}

async function run(invocation: Invocation, host: CommandHost, signal: AbortSignal): Promise<number> {
  const flags = invocation.spec.settings === 'none' ? {} : settingFlags(invocation);
  const loaded = loadSettings(host.readSources(flags));
  const { url, apiKey, adminKey, organization } = loaded.settings;
  const context = {
    terminal: host.terminal,
    loaded,
    api: new ApiClient({ url, key: apiKey, keySetting: 'apiKey', organization, signal }),
    administration: new ApiClient({ url, key: adminKey, keySetting: 'adminKey', organization: null, signal }),
    clock: systemClock,
    signal,
  };
  return invocation.spec.run(context, invocation.args, invocation.options);
}

/**
 * Returns the options that are settings. A command other than a server may use setting names for its own
 * options, except for the client settings.
 */
function settingFlags(invocation: Invocation): Record<string, unknown> {
  if (invocation.spec.settings === 'server') return { ...invocation.options };
  const { url, apiKey, adminKey, organization, config } = invocation.options;
  return { url, apiKey, adminKey, organization, config };
}
