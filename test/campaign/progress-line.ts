const lineEveryMs = 5_000;
const drawEveryMs = 100;
/** Of a terminal that does not say how wide it is. */
const narrowColumns = 80;

/** How far a part is: one line drawn over on a terminal, lines now and then elsewhere. */
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

  /** A line that stays. */
  writeLine(text: string): void {
    process.stderr.write(`${this.#isInteractive ? '\r\x1b[K' : ''}${text}\n`);
  }
}
