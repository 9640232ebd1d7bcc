const barColumns = 24;
/** Of a terminal that does not say how wide it is. */
const narrowColumns = 80;
const plainLineIntervalMs = 5_000;
const redrawIntervalMs = 100;

/** Tells how far a bench is: a bar on a terminal, plain lines now and then elsewhere. Written to standard error. */
export class BenchProgress {
  readonly #isInteractive = process.stderr.isTTY === true;
  #shownMs = Number.NEGATIVE_INFINITY;
  #phase = '';

  /** `done` of `total` steps of a phase; `words` say which step is next. */
  update(phase: string, done: number, total: number, label: string): void {
    const now = performance.now();
    const pauseMs = this.#isInteractive ? redrawIntervalMs : plainLineIntervalMs;
    if (phase === this.#phase && now - this.#shownMs < pauseMs) return;
    this.#phase = phase;
    this.#shownMs = now;
    const share = total === 0 ? 1 : done / total;
    const line = `${phase} ${Math.floor(share * 100)} % ${label}`;
    // A line that does not fit would leave parts of itself behind.
    const drawn = `${bar(share)} ${line}`.slice(0, (process.stderr.columns || narrowColumns) - 1);
    process.stderr.write(this.#isInteractive ? `\r\x1b[K${drawn}` : `${line}\n`);
  }

  /** A line that stays. */
  note(line: string): void {
    process.stderr.write(`${this.#isInteractive ? '\r\x1b[K' : ''}${line}\n`);
  }
}

function bar(share: number): string {
  const filled = Math.floor(share * barColumns);
  return `[${'#'.repeat(filled)}${'.'.repeat(barColumns - filled)}]`;
}
