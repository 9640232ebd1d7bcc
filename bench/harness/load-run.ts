import { connect, type Socket } from 'node:net';
import { assert, assertDefined } from '../../src/core/assert.ts';
import { cpuMsOf, ownCpuMs } from './cpu-time.ts';
import { type HistogramCounts, LatencyHistogram } from './histogram.ts';
import { type HttpMessage, MessageReader } from './message-reader.ts';

/** A server on this machine and the requests to send to it, cyclically in this order. */
export interface LoadTarget {
  readonly port: number;
  readonly requests: readonly Uint8Array[];
}

export interface LoadJob {
  /** Index of the first request: the position where the previous job stopped. */
  readonly from: number;
  readonly connections: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
  /**
   * Requests per second over all connections, sent at evenly spaced times independent of the server (open
   * loop); null: each connection sends its next request after the reply to the last (closed loop).
   */
  readonly ratePerSecond: number | null;
  /** Process whose CPU time is read at the start and end of the measured window. */
  readonly serverPid: number;
}

export interface LoadOutcome {
  /** Actual duration of the measured window. */
  readonly windowMs: number;
  /** Replies with status 200 that arrived within the window. */
  readonly replies: number;
  /**
   * One latency per request due within the window, up to the last byte of its reply. In an open loop it
   * starts at the due time, not when a connection became free, so that a stall of the server counts for all
   * waiting requests (no coordinated omission). A request without a timely reply counts with the time it has
   * waited.
   */
  readonly latencies: HistogramCounts;
  /** Open loop: delay of the generator's own timer relative to the due time; included in the latencies. */
  readonly lateness: HistogramCounts;
  /** Requests that were due and had no reply when the job stopped waiting. */
  readonly abandoned: number;
  /** Replies with a status other than 200, warm-up included; then status line and body of the first of them. */
  readonly rejected: number;
  readonly firstRejection: string | null;
  readonly serverCpuMs: number | null;
  /** CPU time of the whole process of the generator. */
  readonly clientCpuMs: number;
  /** Number of requests sent, including warm-up; the next job starts at `from + sent`. */
  readonly sent: number;
}

/** Maximum milliseconds to wait for replies after the window. */
const drainMsMax = 10_000;
const rejectionCharactersMax = 500;

interface Connection {
  readonly socket: Socket;
  /** Due time of the request in flight; null if there is none. */
  dueMs: number | null;
}

/**
 * Sends the requests of one job and measures them. Each connection has at most one request in flight. Errors:
 * rejects if a connection fails or the server closes one.
 */
export async function runLoad(target: LoadTarget, job: LoadJob): Promise<LoadOutcome> {
  assert(target.requests.length > 0 && job.connections > 0, 'a job has requests and connections');
  const run = new LoadRun(target, job);
  try {
    await run.open();
    return await run.measure();
  } finally {
    run.close();
  }
}

class LoadRun {
  readonly #target: LoadTarget;
  readonly #job: LoadJob;
  readonly #connections: Connection[] = [];
  readonly #idle: Connection[] = [];
  /** Due times of requests that wait for a free connection, oldest first from `#waitingFrom`. */
  readonly #waiting: number[] = [];
  #waitingFrom = 0;
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #latencies = new LatencyHistogram();
  readonly #lateness = new LatencyHistogram();
  readonly #ended: Promise<void>;
  #end!: () => void;
  #fail!: (error: Error) => void;
  #window = { startMs: Number.POSITIVE_INFINITY, endMs: Number.POSITIVE_INFINITY };
  #isSending = true;
  #closed = false;
  #sent = 0;
  #replies = 0;
  #rejected = 0;
  #firstRejection: string | null = null;

  constructor(target: LoadTarget, job: LoadJob) {
    this.#target = target;
    this.#job = job;
    this.#ended = new Promise<void>((resolve, reject) => {
      this.#end = resolve;
      this.#fail = reject;
    });
    // Prevents an unhandled rejection if the run fails before `#ended` is awaited.
    this.#ended.catch(() => {});
  }

  async open(): Promise<void> {
    for (let i = 0; i < this.#job.connections; i++) {
      const socket = connect({ host: '127.0.0.1', port: this.#target.port, noDelay: true });
      const connection: Connection = { socket, dueMs: null };
      const reader = new MessageReader((message) => this.#onReply(connection, message));
      this.#connections.push(connection);
      this.#idle.push(connection);
      socket.on('error', (error) => this.#fail(error));
      socket.on('close', () => {
        if (!this.#closed) this.#fail(new Error('The server ended a connection of the load generator.'));
      });
      socket.on('data', (piece) => {
        try {
          reader.push(piece);
        } catch (error) {
          this.#fail(error as Error);
        }
      });
      await Promise.race([new Promise<void>((resolve) => socket.once('connect', resolve)), this.#ended]);
    }
  }

  async measure(): Promise<LoadOutcome> {
    this.#start();
    await this.#pause(this.#job.warmUpMs);
    const before = this.#processorMs();
    this.#window = { startMs: performance.now(), endMs: Number.POSITIVE_INFINITY };
    await this.#pause(this.#job.measureMs);
    this.#window.endMs = performance.now();
    const after = this.#processorMs();
    this.#isSending = false;
    const abandoned = await this.#drain();
    return {
      windowMs: this.#window.endMs - this.#window.startMs,
      replies: this.#replies,
      latencies: this.#latencies.counts(),
      lateness: this.#lateness.counts(),
      abandoned,
      rejected: this.#rejected,
      firstRejection: this.#firstRejection,
      serverCpuMs: after.server === null || before.server === null ? null : after.server - before.server,
      clientCpuMs: after.client - before.client,
      sent: this.#sent,
    };
  }

  close(): void {
    this.#closed = true;
    this.#isSending = false;
    for (const timer of this.#timers) clearTimeout(timer);
    for (const connection of this.#connections) connection.socket.destroy();
  }

  #start(): void {
    const { ratePerSecond } = this.#job;
    if (ratePerSecond === null) {
      const now = performance.now();
      for (const connection of this.#idle.splice(0)) this.#send(connection, now);
    } else {
      this.#schedule(performance.now(), 1_000 / ratePerSecond, 0);
    }
  }

  /** Open loop: sends the due requests and schedules the next ones. */
  #schedule(startMs: number, everyMs: number, index: number): void {
    const now = performance.now();
    let next = index;
    for (; this.#isSending && startMs + next * everyMs <= now; next++) {
      const due = startMs + next * everyMs;
      if (this.#inWindow(due)) this.#lateness.record(now - due);
      // Round-robin, because the server closes connections that are idle for some seconds.
      const connection = this.#idle.shift();
      if (connection === undefined) this.#waiting.push(due);
      else this.#send(connection, due);
    }
    if (this.#isSending) {
      this.#timer(() => this.#schedule(startMs, everyMs, next), startMs + next * everyMs - now);
    }
  }

  #send(connection: Connection, dueMs: number): void {
    const { requests } = this.#target;
    const request = requests[(this.#job.from + this.#sent) % requests.length];
    this.#sent += 1;
    connection.dueMs = dueMs;
    connection.socket.write(assertDefined(request, 'requests are numbered from 0'));
  }

  #onReply(connection: Connection, { startLine, body }: HttpMessage): void {
    const now = performance.now();
    const due = connection.dueMs;
    if (due === null) {
      this.#fail(new Error(`The server sent a reply without a request: ${startLine}`));
      return;
    }
    connection.dueMs = null;
    if (startLine.startsWith('HTTP/1.1 200')) {
      if (this.#inWindow(now)) this.#replies += 1;
    } else {
      this.#rejected += 1;
      this.#firstRejection ??= `${startLine}\n${body.toString('utf8')}`.slice(0, rejectionCharactersMax);
    }
    if (this.#inWindow(due)) this.#latencies.record(now - due);
    this.#sendNext(connection, now);
  }

  #sendNext(connection: Connection, now: number): void {
    const closedLoop = this.#job.ratePerSecond === null;
    const due = closedLoop ? (this.#isSending ? now : undefined) : this.#waiting[this.#waitingFrom];
    if (due !== undefined) {
      if (!closedLoop) this.#waitingFrom += 1;
      this.#send(connection, due);
      return;
    }
    this.#idle.push(connection);
    if (!this.#isSending && this.#idle.length === this.#connections.length) this.#end();
  }

  /** Waits for outstanding replies up to a limit. Returns the number of requests without a reply. */
  async #drain(): Promise<number> {
    if (this.#idle.length === this.#connections.length) return 0;
    this.#timer(() => this.#end(), drainMsMax);
    await this.#ended;
    const now = performance.now();
    const inFlight = this.#connections.flatMap(({ dueMs }) => (dueMs === null ? [] : [dueMs]));
    const lost = [...inFlight, ...this.#waiting.slice(this.#waitingFrom)].filter((due) =>
      this.#inWindow(due),
    );
    for (const due of lost) this.#latencies.record(now - due);
    return lost.length;
  }

  #inWindow(ms: number): boolean {
    return ms >= this.#window.startMs && ms < this.#window.endMs;
  }

  #processorMs(): { readonly server: number | null; readonly client: number } {
    return { server: cpuMsOf(this.#job.serverPid), client: ownCpuMs() };
  }

  /** Resolves after `ms`, or rejects as soon as the run fails. */
  #pause(ms: number): Promise<void> {
    return Promise.race([new Promise<void>((resolve) => this.#timer(resolve, ms)), this.#ended]);
  }

  #timer(action: () => void, ms: number): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      action();
    }, ms);
    this.#timers.add(timer);
  }
}
