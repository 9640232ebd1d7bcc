import { loadSettings, readColorVariables, readProcessSources } from '../config/settings.ts';
import { systemClock } from '../core/clock.ts';
import { ApiClient } from './api-client.ts';
import { exitCodes, toExitOutcome } from './exit-codes.ts';
import { type Invocation, parseCommandLine } from './program.ts';
import { processTerminal, type Terminal } from './terminal.ts';

/** Entry point of the command line; `bin/quarry.js` imports it after everything is built. */

async function run(invocation: Invocation, terminal: Terminal, signal: AbortSignal): Promise<number> {
  const flags = invocation.spec.settings === 'none' ? {} : settingFlags(invocation);
  const loaded = loadSettings(readProcessSources(flags));
  const { url, apiKey, adminKey, organization } = loaded.settings;
  const context = {
    terminal,
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

/**
 * The first Ctrl-C aborts the command cleanly, the second exits at once. Not used by `serve`, which handles
 * signals itself.
 */
function abortOnInterrupt(): AbortSignal {
  const controller = new AbortController();
  process.once('SIGINT', () => {
    controller.abort();
    process.once('SIGINT', () => process.exit(exitCodes.interrupted));
  });
  return controller.signal;
}

async function start(): Promise<number> {
  const terminal = processTerminal(readColorVariables());
  let signal: AbortSignal | null = null;
  let invocation: Invocation | null = null;
  try {
    invocation = await parseCommandLine(process.argv.slice(2), (text) => process.stdout.write(text));
    if (invocation === null) return exitCodes.done;
    signal = invocation.spec.usage === 'serve' ? new AbortController().signal : abortOnInterrupt();
    return await run(invocation, terminal, signal);
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

process.exitCode = await start();
