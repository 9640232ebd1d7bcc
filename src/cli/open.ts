import { spawn } from 'node:child_process';
import { type DesktopVariables, readDesktopVariables } from '../config/settings.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { requestLoginLink } from './sign-in-commands.ts';

export const openCommand: CommandSpec = {
  usage: 'open',
  settings: 'client',
  summary: 'open the dashboard in the browser, signed in with a one-time link (run on the server machine)',
  options: [
    { flags: '--data <folder>', meaning: 'data directory of the server (QUARRY_DATA)' },
    { flags: '--print', meaning: 'print the link instead of opening a browser' },
  ],
  examples: ['quarry open', 'quarry open --print', 'BROWSER=firefox quarry open'],
  run: openDashboard,
};

async function openDashboard(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const { url, expires_at: expiresAt } = await requestLoginLink(context, options);
  const command = options.print === true ? null : browserCommand(process.platform, readDesktopVariables());
  if (command !== null && (await startBrowser(command, url))) {
    context.terminal.out('The dashboard opens in your browser.');
    return exitCodes.done;
  }
  context.terminal.out(url);
  context.terminal.note(`Open the link in a browser. It works once, until ${expiresAt}.\n`);
  return exitCodes.done;
}

/** Returns the program that opens a URL; null on a machine without a desktop, such as over SSH. */
export function browserCommand(platform: NodeJS.Platform, variables: DesktopVariables): string | null {
  const isSet = (value: string | undefined) => value !== undefined && value !== '';
  if (isSet(variables.BROWSER)) return variables.BROWSER ?? null;
  if (platform === 'darwin') return 'open';
  return isSet(variables.DISPLAY) || isSet(variables.WAYLAND_DISPLAY) ? 'xdg-open' : null;
}

/** Resolves with false if the program cannot be started. It continues after this command has ended. */
function startBrowser(command: string, url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(command, [url], { detached: true, stdio: 'ignore' });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}
