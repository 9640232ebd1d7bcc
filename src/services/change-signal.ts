import type { CancellationToken } from '../core/async/cancellation-token.ts';
import type { ChangeFeeds } from '../storage/change-feeds.ts';

/** Milliseconds between checks for new changes, which are cheap while nothing is written. */
const intervalMs = 50;

interface Waiter {
  readonly organizationId: string;
  readonly sequence: number;
  readonly settle: () => void;
}

/** Wakes readers of change feeds: one timer for all of them. */
export class ChangeSignal {
  readonly #feeds: ChangeFeeds;
  readonly #waiters = new Set<Waiter>();
  #timer: NodeJS.Timeout | null = null;
  #revision = -1;

  constructor(feeds: ChangeFeeds) {
    this.#feeds = feeds;
  }

  /** Resolves when the organization has a change after this number, after `msMax`, or when the call is canceled. */
  wait(
    organizationId: string,
    { sequence, msMax }: { readonly sequence: number; readonly msMax: number },
    cancellation: Pick<CancellationToken, 'isCanceled' | 'onCanceled'>,
  ): Promise<void> {
    if (cancellation.isCanceled || this.#hasChanged(organizationId, sequence)) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => waiter.settle(), msMax);
      const waiter: Waiter = {
        organizationId,
        sequence,
        settle: () => {
          clearTimeout(timer);
          this.#waiters.delete(waiter);
          if (this.#waiters.size === 0) this.#stop();
          resolve();
        },
      };
      this.#waiters.add(waiter);
      this.#timer ??= setInterval(() => this.#check(), intervalMs);
      cancellation.onCanceled(waiter.settle);
    });
  }

  #check(): void {
    const { revision } = this.#feeds;
    if (revision === this.#revision) return;
    this.#revision = revision;
    for (const waiter of [...this.#waiters])
      if (this.#hasChanged(waiter.organizationId, waiter.sequence)) waiter.settle();
  }

  /** Also when the feed was closed. */
  #hasChanged(organizationId: string, sequence: number): boolean {
    try {
      return this.#feeds.find(organizationId)?.last !== sequence;
    } catch {
      return true; // the store is closed: the next read of the waiter reports it
    }
  }

  #stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }
}
