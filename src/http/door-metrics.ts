import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export interface FinishedCall {
  /** Operation id, or "none" for an address that does not exist. */
  readonly operation: string;
  readonly status: number;
  readonly seconds: number;
  readonly replyBytes: number;
}

const latencyBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Figures of the door, in the registry it is handed. */
export class DoorMetrics {
  readonly #requests: Counter<'operation' | 'status'>;
  readonly #seconds: Histogram<'operation'>;
  readonly #replyBytes: Counter<'operation'>;

  constructor(
    registry: Registry,
    figures: { readonly running: () => number; readonly bodyBytes: () => number },
  ) {
    const registers = [registry];
    this.#requests = new Counter({
      name: 'quarry_http_requests_total',
      help: 'Requests answered, by operation and status (499: the client left first).',
      labelNames: ['operation', 'status'],
      registers,
    });
    this.#seconds = new Histogram({
      name: 'quarry_http_request_seconds',
      help: 'Seconds from the request line to the last byte of the reply, by operation.',
      labelNames: ['operation'],
      buckets: latencyBuckets,
      registers,
    });
    this.#replyBytes = new Counter({
      name: 'quarry_http_reply_bytes_total',
      help: 'Bytes of reply bodies, by operation.',
      labelNames: ['operation'],
      registers,
    });
    gauge(
      registry,
      { name: 'quarry_http_requests_running', help: 'Requests being served now.' },
      figures.running,
    );
    gauge(
      registry,
      { name: 'quarry_http_body_bytes', help: 'Bytes of whole request bodies in memory now.' },
      figures.bodyBytes,
    );
  }

  count({ operation, status, seconds, replyBytes }: FinishedCall): void {
    this.#requests.inc({ operation, status: String(status) });
    this.#seconds.observe({ operation }, seconds);
    this.#replyBytes.inc({ operation }, replyBytes);
  }
}

function gauge(registry: Registry, words: { name: string; help: string }, read: () => number): Gauge {
  return new Gauge({
    ...words,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}
