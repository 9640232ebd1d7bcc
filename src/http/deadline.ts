import { AppError } from '../core/app-error.ts';
import type { CancellationToken } from '../core/async/cancellation-token.ts';
import { ClientDisconnectedError } from './exchange.ts';

/** End of one call: timeout, client disconnect or abort, whichever comes first. */
export class Deadline implements CancellationToken {
  readonly #controller = new AbortController();
  /** Why the call ended; null while it runs. */
  #reason: Error | null = null;
  #reject: (reason: Error) => void = () => {};
  #timer: NodeJS.Timeout | null = null;
  #isCompleted = false;
  #listeners: (() => void)[] = [];

  get isCanceled(): boolean {
    return this.#reason !== null;
  }

  get reason(): Error | null {
    return this.#reason;
  }

  /** Signal for the work, aborted with `reason`. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  onCanceled(listener: () => void): void {
    if (this.#reason === null) this.#listeners.push(listener);
    else listener();
  }

  /**
   * Returns the result of the work, or rejects with AppError `unavailable` or ClientDisconnectedError without
   * waiting for work that ignores the signal. Called once.
   */
  race<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#reason !== null) reject(this.#reason);
      this.#reject = reject;
      work.then(resolve, reject);
    });
  }

  /**
   * Ends the call in `msMax` milliseconds unless `complete` is called; a later start replaces an earlier one.
   */
  start(msMax: number): void {
    if (this.#reason !== null || this.#isCompleted) return;
    this.#stopTimer();
    this.#timer = setTimeout(() => {
      const detail = `The request timed out after ${msMax / 1_000} seconds.`;
      this.#end(new AppError('unavailable', detail, { retryAfterMs: 1_000 }));
    }, msMax);
  }

  disconnect(): void {
    this.#end(new ClientDisconnectedError());
  }

  /** Ends the call on behalf of the server. */
  abort(error: AppError): void {
    this.#end(error);
  }

  /** The reply is ready: stops the timeout, but still reports a disconnect of the client. */
  complete(): void {
    this.#isCompleted = true;
    this.#stopTimer();
  }

  #stopTimer(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #end(reason: Error): void {
    if (this.#reason !== null) return;
    this.#reason = reason;
    this.#stopTimer();
    this.#reject(reason);
    this.#controller.abort(reason);
    for (const listener of this.#listeners.splice(0)) listener();
  }
}
