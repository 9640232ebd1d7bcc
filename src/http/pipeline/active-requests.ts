import { IndexedSet } from '../../core/indexed-set.ts';
import { shuttingDownError } from '../../core/shutting-down-error.ts';
import type { Deadline } from '../deadline.ts';
import type { RequestContext } from './request-context.ts';

/** Requests that are being served, and their end when the server stops. */
export class ActiveRequests {
  /** Whether each reply ends its connection. */
  endsConnections = false;
  readonly #requests = new IndexedSet<RequestContext>();
  readonly #idleListeners: (() => void)[] = [];
  readonly #streams = new Set<Deadline>();
  #isDraining = false;
  #count = 0;

  get size(): number {
    return this.#requests.size;
  }

  /** Number of requests since the start. */
  get count(): number {
    return this.#count;
  }

  /** Whether the server is stopping and rejects new requests. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  add(context: RequestContext): void {
    this.#count += 1;
    this.#requests.add(context);
  }

  delete(context: RequestContext): void {
    this.#requests.delete(context);
    this.#streams.delete(context.deadline);
    if (this.#requests.size === 0) for (const listener of this.#idleListeners.splice(0)) listener();
  }

  /** A reply without an end: `drain` ends it at once. */
  addStream(deadline: Deadline): void {
    this.#streams.add(deadline);
  }

  /** See `RequestHandler.drain`. */
  async drain(graceMs: number): Promise<void> {
    this.#isDraining = true;
    for (const deadline of [...this.#streams]) deadline.abort(shuttingDownError());
    if (await this.#waitUntilIdle(graceMs)) return;
    for (const context of this.#requests) context.deadline.abort(shuttingDownError());
    await this.#waitUntilIdle(1_000);
  }

  #waitUntilIdle(msMax: number): Promise<boolean> {
    if (this.#requests.size === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), msMax);
      this.#idleListeners.push(() => {
        clearTimeout(timer);
        resolve(true);
      });
    });
  }
}
