import { pino } from 'pino';
import type { LogLevel } from './log-levels.ts';

/** One line of JSON per event that matters; `zdr` organisations never have text in one (their services see to it). */
export interface Logger {
  debug(fields: Readonly<Record<string, unknown>>, event: string): void;
  info(fields: Readonly<Record<string, unknown>>, event: string): void;
  warn(fields: Readonly<Record<string, unknown>>, event: string): void;
  error(fields: Readonly<Record<string, unknown>>, event: string): void;
  /** The same logger with `fields` on every line. */
  child(fields: Readonly<Record<string, unknown>>): Logger;
}

/** Logs to standard error, so that standard output stays free for what a command prints. */
export function createLogger(level: LogLevel): Logger {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, pino.destination(2));
}

export const silentLogger: Logger = createLogger('silent');
