import { pino } from 'pino';
import type { LogLevel } from './log-levels.ts';

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
 * command.
 */
export function createLogger(level: LogLevel): Logger {
  const destination = pino.destination(2);
  // A server whose terminal or log reader is gone continues and stops cleanly.
  destination.on('error', () => undefined);
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);
}

export const silentLogger: Logger = createLogger('silent');
