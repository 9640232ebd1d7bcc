import { AppError } from '../core/app-error.ts';
import type { CancellationToken } from '../core/async/cancellation-token.ts';
import { ClientDisconnectedError } from './exchange.ts';

/** The end of one call: its time is up or its client left, whichever comes first. */
export class Deadline implements CancellationToken {
  /** Most calls are over before anybody asks for their signal, and to make one takes longer than much of their work. */
  #controller: AbortController | null = null;
  /** Why it ended; null as long as it has not. */
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

  /** Tells the work; aborted with the reason. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== null) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  onCanceled(listener: () => void): void {
    if (this.#reason === null) this.#listeners.push(listener);
    else listener();
  }

  /**
   * What the work comes to, or a rejection with AppError `unavailable` or ClientGone: the corridor does not wait for
   * work that does not listen. Called once.
   */
  race<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#reason !== null) reject(this.#reason);
      this.#reject = reject;
      work.then(resolve, reject);
    });
  }

  /** The call must be answered within `msMax` from now; a later start replaces an earlier one. */
  start(msMax: number): void {
    if (this.#reason !== null || this.#isCompleted) return;
    this.#stopTimer();
    this.#timer = setTimeout(() => {
      const detail = `The call took longer than ${msMax / 1_000} seconds and was given up.`;
      this.#end(new AppError('unavailable', detail, { retryAfterMs: 1_000 }));
    }, msMax);
  }

  disconnect(): void {
    this.#end(new ClientDisconnectedError());
  }

  /** The server gives the call up. */
  abort(error: AppError): void {
    this.#end(error);
  }

  /** The reply is ready: the time no longer matters, a client that leaves still does. */
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
    this.#controller?.abort(reason);
    for (const listener of this.#listeners.splice(0)) listener();
  }
}
