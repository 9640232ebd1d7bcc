import { limits } from './limits.ts';
import type { LogLevel } from './log-levels.ts';

export type LogLineLevel = Exclude<LogLevel, 'silent'>;

/** One line of the log. */
export interface LogEntry {
  /** ISO 8601. */
  readonly time: string;
  readonly level: LogLineLevel;
  /** Fixed words. */
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface LogLineFilter {
  readonly level: LogLineLevel | null;
  /** In lower case. */
  readonly text: string | null;
}

export interface LogTailPage {
  /** Oldest first. */
  readonly lines: readonly LogEntry[];
  /** Position after the last line that was examined. */
  readonly next: number;
  /** Whether lines between the requested position and `lines` were discarded. */
  readonly isTruncated: boolean;
}

/** Levels of pino. */
const levelNumbers: Readonly<Record<LogLineLevel, number>> = { debug: 20, info: 30, warn: 40, error: 50 };
const levelNames = new Map(Object.entries(levelNumbers).map(([name, value]) => [value, name]));

/**
 * The last lines of the log, in memory. Lines are kept as JSON text and parsed when they are read: servers
 * write many lines and administrators read few.
 */
export class LogTail {
  readonly #bytesMax: number;
  /** The first `#dropped` lines are discarded but not yet removed from the array. */
  #lines: string[] = [];
  #dropped = 0;
  /** Position of the first line in `#lines`. */
  #base = 0;
  #bytes = 0;

  constructor(bytesMax: number = limits.logTailBytesMax) {
    this.#bytesMax = bytesMax;
  }

  /** Adds a JSON line of the logger. A line that exceeds the whole tail is discarded. */
  write(line: string): void {
    this.#lines.push(line);
    this.#bytes += sizeOf(line);
    while (this.#bytes > this.#bytesMax) {
      this.#bytes -= sizeOf(this.#lines[this.#dropped]!);
      this.#lines[this.#dropped] = '';
      this.#dropped += 1;
    }
    // Removing lines one by one from the front of an array would move all others each time.
    if (this.#dropped > this.#lines.length / 2) {
      this.#lines = this.#lines.slice(this.#dropped);
      this.#base += this.#dropped;
      this.#dropped = 0;
    }
  }

  /** Returns the last `limit` matching lines. */
  readLast(filter: LogLineFilter, limit: number): LogTailPage {
    const lines: LogEntry[] = [];
    for (let i = this.#lines.length - 1; i >= this.#dropped && lines.length < limit; i -= 1) {
      const line = matchLine(this.#lines[i]!, filter);
      if (line !== null) lines.push(line);
    }
    return { lines: lines.reverse(), next: this.#end, isTruncated: false };
  }

  /** Returns the first `limit` matching lines from a position on. */
  readFrom(position: number, filter: LogLineFilter, limit: number): LogTailPage {
    const first = this.#base + this.#dropped;
    const lines: LogEntry[] = [];
    let next = Math.min(Math.max(position, first), this.#end);
    for (; next < this.#end && lines.length < limit; next += 1) {
      const line = matchLine(this.#lines[next - this.#base]!, filter);
      if (line !== null) lines.push(line);
    }
    return { lines, next, isTruncated: position < first };
  }

  get #end(): number {
    return this.#base + this.#lines.length;
  }
}

/** Memory of a string, with the reference to it. */
function sizeOf(line: string): number {
  return line.length + 16;
}

function matchLine(text: string, filter: LogLineFilter): LogEntry | null {
  const { level, time, msg, ...fields } = JSON.parse(text) as Record<string, unknown>;
  if (Number(level) < levelNumbers[filter.level ?? 'debug']) return null;
  const line: LogEntry = {
    time: String(time),
    level: (levelNames.get(Number(level)) ?? 'error') as LogLineLevel,
    event: String(msg),
    fields,
  };
  return filter.text === null || hasText(line, filter.text) ? line : null;
}

/** Compares decoded values, because JSON escapes some characters of a text. */
function hasText({ event, fields }: LogEntry, text: string): boolean {
  if (event.toLowerCase().includes(text)) return true;
  return Object.entries(fields).some(([name, value]) =>
    `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`.toLowerCase().includes(text),
  );
}
