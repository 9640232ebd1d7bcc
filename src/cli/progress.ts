import type { Clock } from '../core/clock.ts';
import { RemainingTime } from './remaining-time.ts';
import type { Terminal } from './terminal.ts';
import { formatDuration } from './text-layout.ts';

const redrawIntervalMs = 100;
const plainLineIntervalMs = 5_000;
/** The countdown continues between two updates. */
const tickMs = 1_000;
const barColumns = 24;

export interface ProgressUpdate {
  readonly done: number;
  readonly total: number;
  /** Text after the percentage, for example "12/80 files, 3.1 MB/s". */
  readonly label: string;
}

/** Calls `tick` every second; returns a function that ends it. */
type StartTicks = (tick: () => void) => () => unknown;

function startTimer(tick: () => void): () => void {
  const timer = setInterval(tick, tickMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** Progress bar that redraws itself on a terminal; elsewhere it prints a plain line periodically. */
export class ProgressBar {
  readonly #terminal: Terminal;
  readonly #clock: Clock;
  readonly #title: string;
  readonly #startedAt: number;
  readonly #remaining = new RemainingTime();
  readonly #stopTicks: () => unknown;
  #shownAt: number;
  #state: ProgressUpdate | null = null;
  #isFinished = false;

  constructor(title: string, terminal: Terminal, clock: Clock, startTicks: StartTicks = startTimer) {
    this.#title = title;
    this.#terminal = terminal;
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
    this.#shownAt = Number.NEGATIVE_INFINITY;
    if (!terminal.isInteractive) this.#shownAt = this.#startedAt;
    this.#stopTicks = terminal.isInteractive ? startTicks(() => this.#redraw()) : () => undefined;
  }

  /** Milliseconds since construction. */
  get elapsedMs(): number {
    return this.#clock.monotonic() - this.#startedAt;
  }

  update(state: ProgressUpdate): void {
    this.#state = state;
    this.#remaining.record({ atMs: this.#clock.monotonic(), done: state.done, total: state.total });
    const pauseMs = this.#terminal.isInteractive ? redrawIntervalMs : plainLineIntervalMs;
    if (!this.#isFinished && this.#clock.monotonic() - this.#shownAt >= pauseMs) this.#redraw();
  }

  /** Removes the bar and prints `lastLine` in its place. Idempotent. */
  finish(lastLine: string): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.#stopTicks();
    if (this.#terminal.isInteractive) this.#terminal.redrawLine(`${lastLine}\n`);
    else this.#terminal.note(`${lastLine}\n`);
  }

  #redraw(): void {
    const state = this.#state;
    if (state === null) return;
    const nowMs = this.#clock.monotonic();
    this.#shownAt = nowMs;
    const leftMs = this.#remaining.estimateMs(nowMs);
    const left = leftMs === null ? 'time left unknown' : `${formatDuration(leftMs)} left`;
    const line = `${this.#title} ${percent(state)} ${state.label}, ${left}`;
    if (this.#terminal.isInteractive) this.#terminal.redrawLine(`${bar(state)} ${line}`);
    else this.#terminal.note(`${line}\n`);
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
