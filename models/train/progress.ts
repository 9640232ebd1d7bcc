/** One line of progress on standard error, at most twice a second, with the time since the start. */
export class Progress {
  readonly #started = performance.now();
  #shown = 0;

  show(what: string): void {
    if (performance.now() - this.#shown < 500) return;
    this.#shown = performance.now();
    process.stderr.write(`\r\x1b[K${this.#seconds()} ${what}`);
  }

  /** Ends a step with a line that stays. */
  done(what: string): void {
    process.stderr.write(`${process.stderr.isTTY ? '\r\x1b[K' : '\n'}${this.#seconds()} ${what}\n`);
  }

  #seconds(): string {
    return `${((performance.now() - this.#started) / 1000).toFixed(0).padStart(5)} s`;
  }
}
