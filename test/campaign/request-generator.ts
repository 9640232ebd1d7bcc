import { setTimeout as wait } from 'node:timers/promises';
import { LatencyHistogram } from '../../bench/harness/histogram.ts';
import type { MeasurementWindows } from './measurement-windows.ts';
import { RequestConnections } from './request-connections.ts';

/** Requests of one organization: its key and the body of each request. */
export interface RequestStream {
  readonly url: string;
  readonly key: string;
  readonly operation: string;
  readonly bodyOf: (number: number) => object;
  /** If given, only latencies of windows that the hypervisor did not disturb are recorded. */
  readonly windows?: MeasurementWindows;
}

/** More requests than a server queues for one organization, so that it must reject some. */
const inFlightMax = 1_200;
const tickMs = 2;

/** Replies of one kind: all are counted, while `latencies` omits those of disturbed windows. */
export class ReplyRecord {
  readonly latencies = new LatencyHistogram();
  count = 0;
  /** Latencies of the current window in milliseconds; null without windows. */
  #window: number[] | null = null;

  constructor(windows: MeasurementWindows | undefined) {
    if (windows === undefined) return;
    this.#window = [];
    windows.onEnd((isUndisturbed) => this.#endWindow(isUndisturbed));
  }

  record(milliseconds: number): void {
    this.count += 1;
    if (this.#window === null) this.latencies.record(milliseconds);
    else this.#window.push(milliseconds);
  }

  #endWindow(isUndisturbed: boolean): void {
    if (isUndisturbed) for (const milliseconds of this.#window ?? []) this.latencies.record(milliseconds);
    this.#window = [];
  }
}

/** Sends requests for one organization and records their outcomes. */
export class RequestGenerator {
  readonly accepted: ReplyRecord;
  readonly rejected: ReplyRecord;
  /** Replies that are neither accepted nor rejected, by status; 0 is no reply. */
  readonly unexpected = new Map<number, number>();
  /** Requests that were due but not sent because too many were in flight. */
  skipped = 0;
  readonly #target: RequestStream;
  readonly #connections: RequestConnections;
  #number = 0;
  #inFlight = 0;

  constructor(target: RequestStream) {
    this.accepted = new ReplyRecord(target.windows);
    this.rejected = new ReplyRecord(target.windows);
    this.#target = target;
    this.#connections = new RequestConnections(target);
  }

  /** Keeps `atOnce` requests in flight for `milliseconds`. */
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

  /** Sends `perSecond` requests per second regardless of the server's speed; waits for the last reply. */
  async openLoop(perSecond: number, milliseconds: number, isAborted: () => boolean): Promise<void> {
    const started = performance.now();
    for (let sent = 0; ; ) {
      const elapsed = performance.now() - started;
      if (elapsed >= milliseconds || isAborted()) break;
      for (; sent < (elapsed * perSecond) / 1_000; sent += 1) {
        if (this.#inFlight >= inFlightMax) this.skipped += 1;
        // Its promise is not kept: with thousands of them, the pauses of garbage collection would count as latency.
        else void this.sendOne();
      }
      await wait(tickMs);
    }
    while (this.#inFlight > 0) await wait(tickMs);
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

/** p99 in milliseconds, or the maximum if there are too few samples. */
export function p99Of({ latencies }: ReplyRecord): number {
  return latencies.quantileMs(0.99) ?? latencies.mostMs ?? 0;
}
