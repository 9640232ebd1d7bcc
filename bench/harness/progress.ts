const barColumns = 24;
/** Width of a terminal that does not report one. */
const narrowColumns = 80;
const plainLineIntervalMs = 5_000;
const redrawIntervalMs = 100;

/** Progress of a bench on standard error: a bar on a terminal, elsewhere a plain line periodically. */
export class BenchProgress {
  readonly #isInteractive = process.stderr.isTTY === true;
  #shownMs = Number.NEGATIVE_INFINITY;
  #phase = '';

  /** Shows `done` of `total` steps of a phase; `label` describes the next step. */
  update(phase: string, done: number, total: number, label: string): void {
    const now = performance.now();
    const pauseMs = this.#isInteractive ? redrawIntervalMs : plainLineIntervalMs;
    if (phase === this.#phase && now - this.#shownMs < pauseMs) return;
    this.#phase = phase;
    this.#shownMs = now;
    const share = total === 0 ? 1 : done / total;
    const line = `${phase} ${Math.floor(share * 100)} % ${label}`;
    // Truncated, because a redraw does not clear a line that wraps.
    const drawn = `${bar(share)} ${line}`.slice(0, (process.stderr.columns || narrowColumns) - 1);
    process.stderr.write(this.#isInteractive ? `\r\x1b[K${drawn}` : `${line}\n`);
  }

  /** Prints a permanent line. */
  note(line: string): void {
    process.stderr.write(`${this.#isInteractive ? '\r\x1b[K' : ''}${line}\n`);
  }
}

function bar(share: number): string {
  const filled = Math.floor(share * barColumns);
  return `[${'#'.repeat(filled)}${'.'.repeat(barColumns - filled)}]`;
}
