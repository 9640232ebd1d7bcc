import type { Clock } from '../core/clock.ts';
import type { Terminal } from './terminal.ts';
import { formatDuration } from './text-layout.ts';

const redrawIntervalMs = 100;
const plainLineIntervalMs = 5_000;
const barColumns = 24;

export interface ProgressUpdate {
  readonly done: number;
  readonly total: number;
  /** Text after the percentage, for example "12/80 files, 3.1 MB/s". */
  readonly label: string;
}

/** Progress bar that redraws itself on a terminal; elsewhere it prints a plain line periodically. */
export class ProgressBar {
  readonly #terminal: Terminal;
  readonly #clock: Clock;
  readonly #title: string;
  readonly #startedAt: number;
  #shownAt: number;
  #firstDone: number | null = null;
  #isFinished = false;

  constructor(title: string, terminal: Terminal, clock: Clock) {
    this.#title = title;
    this.#terminal = terminal;
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
    this.#shownAt = Number.NEGATIVE_INFINITY;
    if (!terminal.isInteractive) this.#shownAt = this.#startedAt;
  }

  /** Milliseconds since construction. */
  get elapsedMs(): number {
    return this.#clock.monotonic() - this.#startedAt;
  }

  update(state: ProgressUpdate): void {
    this.#firstDone ??= state.done;
    const pauseMs = this.#terminal.isInteractive ? redrawIntervalMs : plainLineIntervalMs;
    if (this.#isFinished || this.#clock.monotonic() - this.#shownAt < pauseMs) return;
    this.#shownAt = this.#clock.monotonic();
    const line = `${this.#title} ${percent(state)} ${state.label}, ${this.#remaining(state)}`;
    this.#terminal.note(this.#terminal.isInteractive ? `\r\x1b[K${bar(state)} ${line}` : `${line}\n`);
  }

  /** Removes the bar and prints `lastLine` in its place. Idempotent. */
  finish(lastLine: string): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.#terminal.note(`${this.#terminal.isInteractive ? '\r\x1b[K' : ''}${lastLine}\n`);
  }

  #remaining(state: ProgressUpdate): string {
    const doneSinceStart = state.done - (this.#firstDone ?? 0);
    if (doneSinceStart <= 0) return 'time left unknown';
    return `${formatDuration((this.elapsedMs / doneSinceStart) * (state.total - state.done))} left`;
  }
}

function share(state: ProgressUpdate): number {
  return state.total === 0 ? 1 : Math.min(1, state.done / state.total);
}

function percent(state: ProgressUpdate): string {
  return `${Math.floor(share(state) * 100)} %`;
}

function bar(state: ProgressUpdate): string {
  const filled = Math.floor(share(state) * barColumns);
  return `[${'#'.repeat(filled)}${'.'.repeat(barColumns - filled)}]`;
}
