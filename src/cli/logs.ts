import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../core/app-error.ts';
import { limits } from '../core/limits.ts';
import type { GetLogLinesResponse, LogLine } from '../schemas/installation.ts';
import type { StyledText } from './colors.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { integerOption } from './option-values.ts';
import type { Terminal } from './terminal.ts';
import { toPrintable } from './text-layout.ts';

const followMs = 1_000;

export const logsCommand: CommandSpec = {
  usage: 'logs',
  settings: 'client',
  summary:
    'show the last lines of the server log (needs the admin key): readable on a terminal, otherwise one JSON object per line',
  options: [
    { flags: '-f, --follow', meaning: 'continue with new lines until Ctrl-C' },
    {
      flags: '--level <level>',
      meaning: 'minimum level',
      choices: ['debug', 'info', 'warn', 'error'],
    },
    { flags: '--text <text>', meaning: 'only lines with this text in the event or a field' },
    { flags: '-n, --lines <count>', meaning: 'number of lines to start with', default: '100' },
  ],
  examples: ['quarry logs', 'quarry logs --follow --level warn', 'quarry logs --text backup --lines 1000'],
  run: showLogs,
};

async function showLogs(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const { terminal, administration, signal } = context;
  const filter = { level: options.level ?? null, text: options.text ?? null };
  const read = (page: object) =>
    administration.call<GetLogLinesResponse>('admin/get-log-lines', { ...filter, ...page });
  const limit = integerOption(options, 'lines', { minimum: 0, maximum: limits.logPageMax });
  let page = await read({ limit });
  printPage(terminal, page);
  if (options.follow !== true) return exitCodes.done;
  let isReachable = true;
  while (!signal.aborted) {
    // Ctrl-C is the normal end of following.
    await sleep(followMs, undefined, { signal }).catch(() => undefined);
    try {
      page = await read({ cursor: page.next_cursor, limit: limits.logPageMax });
      if (!isReachable) terminal.note('quarry: the server is reachable again\n');
      isReachable = true;
      printPage(terminal, page);
    } catch (error) {
      if (signal.aborted) break;
      // The server may be restarting.
      if (!(error instanceof AppError) || error.code !== 'unavailable') throw error;
      if (isReachable) terminal.note('quarry: the server is not reachable, trying again until Ctrl-C\n');
      isReachable = false;
    }
  }
  return exitCodes.done;
}

function printPage(terminal: Terminal, { lines, is_truncated: isTruncated }: GetLogLinesResponse): void {
  if (isTruncated)
    terminal.note('quarry: some lines are missing, because they were written faster than they were read\n');
  for (const line of lines) {
    if (terminal.isOutputTerminal) terminal.outStyled(formatLine(line));
    else terminal.out(JSON.stringify(line));
  }
}

const levelLabels: Readonly<Record<LogLine['level'], string>> = {
  debug: 'debug  ',
  info: 'info   ',
  warn: 'WARNING',
  error: 'ERROR  ',
};

/** Formats a line: `2026-11-27 17:03:21Z  WARNING  snapshot damaged  shard=3`. */
function formatLine({ time, level, event, fields }: LogLine): StyledText[] {
  const details = Object.entries(fields)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ');
  const isProblem = level === 'warn' || level === 'error';
  return [
    { text: `${toPrintable(`${time.slice(0, 10)} ${time.slice(11, 19)}Z`)}  `, style: 'dim' },
    { text: `${levelLabels[level]}  `, style: isProblem ? 'match' : 'dim' },
    { text: toPrintable(event), style: isProblem ? 'bold' : 'plain' },
    { text: details === '' ? '' : `  ${toPrintable(details)}`, style: 'dim' },
  ];
}
