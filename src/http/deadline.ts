import { AppError } from '../base/app-error.ts';
import { ClientGone } from './exchange.ts';

/**
 * The end of one call: its time is up or its client is gone, whichever comes first. `signal` tells the work, `passed`
 * tells the corridor, which does not wait for work that does not listen.
 */
export class Deadline {
  readonly signal: AbortSignal;
  /** Rejects with AppError `unavailable` or ClientGone; never resolves. */
  readonly passed: Promise<never>;
  readonly #controller = new AbortController();
  #reject: (reason: Error) => void = () => {};
  #timer: NodeJS.Timeout | null = null;
  #over = false;
  #isMet = false;

  constructor() {
    this.signal = this.#controller.signal;
    this.passed = new Promise((_, reject) => {
      this.#reject = reject;
    });
  }

  /** The call must be answered within `msMax` from now; a later start replaces an earlier one. */
  start(msMax: number): void {
    if (this.#over || this.#isMet) return;
    this.#stop();
    this.#timer = setTimeout(() => {
      const detail = `The call took longer than ${msMax / 1_000} seconds and was given up.`;
      this.#end(new AppError('unavailable', detail, { retryAfterMs: 1_000 }));
    }, msMax);
  }

  gone(): void {
    this.#end(new ClientGone());
  }

  /** The server gives the call up. */
  cut(error: AppError): void {
    this.#end(error);
  }

  /** The reply is ready: the time no longer matters, a client that leaves still does. */
  met(): void {
    this.#isMet = true;
    this.#stop();
  }

  #stop(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #end(reason: Error): void {
    if (this.#over) return;
    this.#over = true;
    this.#stop();
    this.#reject(reason);
    this.#controller.abort(reason);
  }
}
