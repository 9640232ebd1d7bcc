/** Progress line on standard error with the elapsed time, updated at most twice a second. */
export class TerminalProgress {
  readonly #startedAt = performance.now();
  #updatedAt = 0;

  update(message: string): void {
    if (performance.now() - this.#updatedAt < 500) return;
    this.#updatedAt = performance.now();
    process.stderr.write(`\r\x1b[K${this.#elapsedSeconds()} ${message}`);
  }

  /** Ends a step with a permanent line. */
  complete(message: string): void {
    process.stderr.write(`${process.stderr.isTTY ? '\r\x1b[K' : '\n'}${this.#elapsedSeconds()} ${message}\n`);
  }

  #elapsedSeconds(): string {
    return `${((performance.now() - this.#startedAt) / 1000).toFixed(0).padStart(5)} s`;
  }
}
