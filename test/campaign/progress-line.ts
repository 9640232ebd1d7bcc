const lineEveryMs = 5_000;
const drawEveryMs = 100;
/** Width of a terminal that reports none. */
const narrowColumns = 80;

/** Progress of a part: one redrawn line on a terminal, periodic lines elsewhere. */
export class ProgressLine {
  readonly #isInteractive = process.stderr.isTTY === true;
  #shownMs = Number.NEGATIVE_INFINITY;

  update(text: string): void {
    const now = performance.now();
    if (now - this.#shownMs < (this.#isInteractive ? drawEveryMs : lineEveryMs)) return;
    this.#shownMs = now;
    const truncated = text.slice(0, (process.stderr.columns || narrowColumns) - 1);
    process.stderr.write(this.#isInteractive ? `\r\x1b[K${truncated}` : `${text}\n`);
  }

  /** Writes a line that is not redrawn. */
  writeLine(text: string): void {
    process.stderr.write(`${this.#isInteractive ? '\r\x1b[K' : ''}${text}\n`);
  }
}
