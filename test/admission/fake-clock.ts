import type { Timer } from '../../src/admission/timer.ts';
import type { Clock } from '../../src/core/clock.ts';

/** Clock that stands still until a test advances it; due timers fire in order. */
export class FakeClock implements Clock, Timer {
  #wall: number;
  #elapsed: number;
  #timers: { readonly at: number; readonly run: () => void }[] = [];

  constructor(start: { readonly wall?: number; readonly elapsed?: number } = {}) {
    this.#wall = start.wall ?? Date.UTC(2026, 0, 1);
    this.#elapsed = start.elapsed ?? 0;
  }

  now(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  /** Number of pending timers. */
  get timers(): number {
    return this.#timers.length;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.#elapsed + ms, run };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  async advance(ms: number): Promise<void> {
    const end = this.#elapsed + ms;
    for (;;) {
      await flushPromises();
      const next = this.#timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#moveTo(next.at);
      this.#timers = this.#timers.filter((other) => other !== next);
      next.run();
    }
    this.#moveTo(end);
    await flushPromises();
  }

  #moveTo(to: number): void {
    const step = Math.max(0, to - this.#elapsed);
    this.#wall += step;
    this.#elapsed += step;
  }
}

/** Resolves after all pending microtasks have run. */
export function flushPromises(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
