import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../core/app-error.ts';
import { changeLimits } from '../core/change-limits.ts';
import type { Change, GetChangesResponse } from '../schemas/changes.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import type { Terminal } from './terminal.ts';
import { toPrintable } from './text-layout.ts';

/** Milliseconds between attempts while the server is not reachable. */
const retryMs = 1_000;

export const changesCommand: CommandSpec = {
  usage: 'changes',
  settings: 'client',
  summary:
    'show the changes of documents and collections: readable on a terminal, otherwise one JSON object per line',
  options: [
    { flags: '-f, --follow', meaning: 'continue with new changes until Ctrl-C' },
    { flags: '--after <cursor>', meaning: 'only changes after this cursor', default: 'oldest' },
    { flags: '--now', meaning: 'with --follow: only new changes' },
  ],
  examples: ['quarry changes', 'quarry changes --follow --now'],
  run: showChanges,
};

async function showChanges(
  { api, terminal, signal }: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const isFollowing = options.follow === true;
  const start = options.now === true ? {} : { after: String(options.after) };
  const read = (position: object, wait_seconds: number) =>
    api.call<GetChangesResponse>('changes/get-changes', {
      ...position,
      limit: changeLimits.perReplyMax,
      wait_seconds,
    });
  let page = await read(start, 0);
  printChanges(terminal, page.changes);
  while (!signal.aborted && (isFollowing || page.has_more)) {
    try {
      page = await read({ after: page.cursor }, isFollowing ? changeLimits.waitSecondsMax : 0);
      printChanges(terminal, page.changes);
    } catch (error) {
      if (signal.aborted) break; // Ctrl-C is the normal end of following
      if (!isFollowing || !(error instanceof AppError) || error.code !== 'unavailable') throw error;
      terminal.note('quarry: the server is not reachable, trying again until Ctrl-C\n');
      await sleep(retryMs, undefined, { signal }).catch(() => undefined);
    }
  }
  return exitCodes.done;
}

function printChanges(terminal: Terminal, changes: readonly Change[]): void {
  for (const change of changes) {
    if (terminal.isOutputTerminal) terminal.out(formatChange(change));
    else terminal.out(JSON.stringify(change));
  }
}

/** Formats a change: `2026-11-27 17:03:21Z  document.added  handbook  guides/setup.pdf`. */
function formatChange({
  occurred_at: at,
  type,
  collection_name: name,
  previous_collection_name: previous,
  path,
  error,
}: Change): string {
  const details = [name, ...(previous === undefined ? [] : [`(before: ${previous})`])];
  if (path !== undefined) details.push(path);
  if (error !== undefined) details.push(`${error.code}: ${error.message}`);
  const text = [`${at.slice(0, 10)} ${at.slice(11, 19)}Z`, type.padEnd(25), ...details].join('  ');
  return toPrintable(text);
}
