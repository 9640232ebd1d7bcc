import { LatencyHistogram } from '../../bench/harness/histogram.ts';
import { RequestConnections } from './request-connections.ts';

/** One organization's requests: its key, and the body of each. */
export interface RequestStream {
  readonly url: string;
  readonly key: string;
  readonly operation: string;
  readonly bodyOf: (number: number) => object;
}

/** More than a server lets wait of one organization, so that it has to refuse. */
const inFlightMax = 1_200;
const tickMs = 2;

/** Requests of one organization, and what became of them. */
export class RequestGenerator {
  readonly accepted = new LatencyHistogram();
  readonly rejected = new LatencyHistogram();
  /** Replies that are neither, by status; 0: no reply. */
  readonly unexpected = new Map<number, number>();
  /** Due, but not sent: too many were unanswered. */
  skipped = 0;
  readonly #target: RequestStream;
  readonly #connections: RequestConnections;
  #number = 0;
  #inFlight = 0;

  constructor(target: RequestStream) {
    this.#target = target;
    this.#connections = new RequestConnections(target);
  }

  /** So many requests at any time, for so long. */
  async closedLoop(atOnce: number, milliseconds: number, pauseMs = 0): Promise<void> {
    const end = performance.now() + milliseconds;
    const worker = async () => {
      while (performance.now() < end) {
        await this.sendOne();
        if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
  }

  /** So many requests a second, whatever the server does; waits for the last reply. */
  async openLoop(perSecond: number, milliseconds: number, isAborted: () => boolean): Promise<void> {
    const started = performance.now();
    const pendingRequests: Promise<void>[] = [];
    for (let sent = 0; ; ) {
      const elapsed = performance.now() - started;
      if (elapsed >= milliseconds || isAborted()) break;
      for (; sent < (elapsed * perSecond) / 1_000; sent += 1) {
        if (this.#inFlight >= inFlightMax) this.skipped += 1;
        else pendingRequests.push(this.sendOne());
      }
      if (pendingRequests.length > 10_000) await Promise.all(pendingRequests.splice(0, 5_000));
      await new Promise((resolve) => setTimeout(resolve, tickMs));
    }
    await Promise.all(pendingRequests);
  }

  async sendOne(): Promise<void> {
    const started = performance.now();
    this.#inFlight += 1;
    this.#number += 1;
    const status = await this.#connections.send(JSON.stringify(this.#target.bodyOf(this.#number)));
    this.#inFlight -= 1;
    const ms = performance.now() - started;
    if (status >= 200 && status < 300) this.accepted.record(ms);
    else if (status === 429 || status === 503) this.rejected.record(ms);
    else this.unexpected.set(status, (this.unexpected.get(status) ?? 0) + 1);
  }

  close(): void {
    this.#connections.close();
  }
}

/** The p99, or the longest where there are too few to tell. */
export function p99Of(histogram: LatencyHistogram): number {
  return histogram.quantileMs(0.99) ?? histogram.mostMs ?? 0;
}
