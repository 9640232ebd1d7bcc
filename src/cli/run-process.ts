import { readColorVariables, readProcessSources } from '../config/settings.ts';
import { runCommandLine } from './command-line.ts';
import { exitCodes } from './exit-codes.ts';
import { processTerminal } from './terminal.ts';

/** The first Ctrl-C aborts the command cleanly, the second exits at once. */
function abortOnInterrupt(): AbortSignal {
  const controller = new AbortController();
  process.once('SIGINT', () => {
    controller.abort();
    process.once('SIGINT', () => process.exit(exitCodes.interrupted));
  });
  return controller.signal;
}

/** Runs the command line of this process and sets its exit code. */
export async function runProcess(): Promise<void> {
  process.exitCode = await runCommandLine(process.argv.slice(2), {
    terminal: processTerminal(readColorVariables()),
    print: (text) => void process.stdout.write(text),
    readSources: readProcessSources,
    createInterruptSignal: abortOnInterrupt,
  });
}
