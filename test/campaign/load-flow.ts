import { LatencyHistogram } from '../../bench/harness/histogram.ts';
import { LoadConnections } from './load-connections.ts';

/** One organization's requests: its key, and the body of each. */
export interface FlowTarget {
  readonly url: string;
  readonly key: string;
  readonly operation: string;
  readonly bodyOf: (number: number) => object;
}

/** More than a server lets wait of one organization, so that it has to refuse. */
const outstandingMax = 1_200;
const tickMs = 2;

/** Requests of one organization, and what became of them. */
export class LoadFlow {
  readonly accepted = new LatencyHistogram();
  readonly refused = new LatencyHistogram();
  /** Replies that are neither, by status; 0: no reply. */
  readonly odd = new Map<number, number>();
  /** Due, but not sent: too many were unanswered. */
  unsent = 0;
  readonly #target: FlowTarget;
  readonly #connections: LoadConnections;
  #number = 0;
  #outstanding = 0;

  constructor(target: FlowTarget) {
    this.#target = target;
    this.#connections = new LoadConnections(target);
  }

  /** So many requests at any time, for so long. */
  async closedLoop(atOnce: number, milliseconds: number, pauseMs = 0): Promise<void> {
    const end = performance.now() + milliseconds;
    const worker = async () => {
      while (performance.now() < end) {
        await this.ask();
        if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
  }

  /** So many requests a second, whatever the server does; waits for the last reply. */
  async openLoop(perSecond: number, milliseconds: number, isAborted: () => boolean): Promise<void> {
    const started = performance.now();
    const asked: Promise<void>[] = [];
    for (let sent = 0; ; ) {
      const elapsed = performance.now() - started;
      if (elapsed >= milliseconds || isAborted()) break;
      for (; sent < (elapsed * perSecond) / 1_000; sent += 1) {
        if (this.#outstanding >= outstandingMax) this.unsent += 1;
        else asked.push(this.ask());
      }
      if (asked.length > 10_000) await Promise.all(asked.splice(0, 5_000));
      await new Promise((resolve) => setTimeout(resolve, tickMs));
    }
    await Promise.all(asked);
  }

  async ask(): Promise<void> {
    const started = performance.now();
    this.#outstanding += 1;
    this.#number += 1;
    const status = await this.#connections.ask(JSON.stringify(this.#target.bodyOf(this.#number)));
    this.#outstanding -= 1;
    const ms = performance.now() - started;
    if (status >= 200 && status < 300) this.accepted.record(ms);
    else if (status === 429 || status === 503) this.refused.record(ms);
    else this.odd.set(status, (this.odd.get(status) ?? 0) + 1);
  }

  close(): void {
    this.#connections.close();
  }
}

/** The p99, or the longest where there are too few to tell. */
export function p99Of(histogram: LatencyHistogram): number {
  return histogram.quantileMs(0.99) ?? histogram.mostMs ?? 0;
}
