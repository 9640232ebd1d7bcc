import { pino } from 'pino';
import type { LogFormat, LogLevel } from './log-levels.ts';
import { formatLogLine } from './log-line.ts';
import type { LogTail } from './log-tail.ts';

/**
 * Structured logger: one line of JSON per event. Lines about `zdr` organizations must not contain text; their
 * services ensure it.
 */
export interface Logger {
  debug(fields: Readonly<Record<string, unknown>>, event: string): void;
  info(fields: Readonly<Record<string, unknown>>, event: string): void;
  warn(fields: Readonly<Record<string, unknown>>, event: string): void;
  error(fields: Readonly<Record<string, unknown>>, event: string): void;
  /** Returns the same logger with `fields` on every line. */
  child(fields: Readonly<Record<string, unknown>>): Logger;
}

/**
 * Creates a logger that writes to standard error, so that standard output stays free for the output of a
 * command. With the format `auto`, a terminal shows warnings and errors as one line of text each. `tail`
 * receives all lines as JSON.
 */
export function createLogger(
  level: LogLevel,
  format: LogFormat = 'json',
  tail: Pick<LogTail, 'write'> | null = null,
): Logger {
  const destination = pino.destination(2);
  // A server whose terminal or log reader is gone continues and stops cleanly.
  destination.on('error', () => undefined);
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  const isText = format === 'auto' && process.stderr.isTTY === true;
  const writeText = (line: string) => void destination.write(`${formatLogLine(line)}\n`);
  const shownLevel = isText && level === 'info' ? 'warn' : level;
  const shown = { level: shownLevel, stream: isText ? { write: writeText } : destination };
  return pino(options, pino.multistream(tail === null ? [shown] : [{ level, stream: tail }, shown]));
}

export const silentLogger: Logger = createLogger('silent');
