import type { Clock } from '../base/clock.ts';
import { clockWords } from './layout.ts';
import type { Terminal } from './terminal.ts';

const drawEveryMs = 100;
const plainLineEveryMs = 5_000;
const barColumns = 24;

export interface ProgressState {
  readonly done: number;
  readonly total: number;
  /** What stands behind the numbers, for example "12/80 files, 3.1 MB/s". */
  readonly words: string;
}

/** A bar that draws over itself where a person watches; elsewhere a plain line now and then. */
export class Progress {
  readonly #terminal: Terminal;
  readonly #clock: Clock;
  readonly #title: string;
  readonly #startedAt: number;
  #shownAt: number;
  #firstDone: number | null = null;
  #ended = false;

  constructor(title: string, terminal: Terminal, clock: Clock) {
    this.#title = title;
    this.#terminal = terminal;
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
    this.#shownAt = Number.NEGATIVE_INFINITY;
    if (!terminal.drawsOver) this.#shownAt = this.#startedAt;
  }

  /** Milliseconds since the start. */
  get elapsedMs(): number {
    return this.#clock.monotonic() - this.#startedAt;
  }

  update(state: ProgressState): void {
    this.#firstDone ??= state.done;
    const pauseMs = this.#terminal.drawsOver ? drawEveryMs : plainLineEveryMs;
    if (this.#ended || this.#clock.monotonic() - this.#shownAt < pauseMs) return;
    this.#shownAt = this.#clock.monotonic();
    const line = `${this.#title} ${percent(state)} ${state.words}, ${this.#remaining(state)}`;
    this.#terminal.note(this.#terminal.drawsOver ? `\r\x1b[K${bar(state)} ${line}` : `${line}\n`);
  }

  /** Takes the bar away and leaves `lastLine` in its place. */
  end(lastLine: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#terminal.note(`${this.#terminal.drawsOver ? '\r\x1b[K' : ''}${lastLine}\n`);
  }

  #remaining(state: ProgressState): string {
    const doneHere = state.done - (this.#firstDone ?? 0);
    if (doneHere <= 0) return 'time left unknown';
    return `${clockWords((this.elapsedMs / doneHere) * (state.total - state.done))} left`;
  }
}

function share(state: ProgressState): number {
  return state.total === 0 ? 1 : Math.min(1, state.done / state.total);
}

function percent(state: ProgressState): string {
  return `${Math.floor(share(state) * 100)} %`;
}

function bar(state: ProgressState): string {
  const filled = Math.floor(share(state) * barColumns);
  return `[${'#'.repeat(filled)}${'.'.repeat(barColumns - filled)}]`;
}
