import type { Metrics } from '../core/metrics.ts';

export interface CompletedRequest {
  /** Operation ID, or "none" for an unknown path. */
  readonly operation: string;
  readonly status: number;
  readonly seconds: number;
  readonly replyBytes: number;
}

const latencyBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** HTTP metrics. */
export class RequestMetrics {
  readonly #addRequest: (labels: { operation: string; status: string }, amount: number) => void;
  readonly #observeSeconds: (labels: { operation: string }, seconds: number) => void;
  readonly #addReplyBytes: (labels: { operation: string }, bytes: number) => void;

  constructor(
    metrics: Metrics,
    gauges: { readonly running: () => number; readonly bodyBytes: () => number },
  ) {
    this.#addRequest = metrics.counter({
      name: 'quarry_http_requests_total',
      help: 'Completed requests, by operation and status (499: the client closed the connection first).',
      labels: ['operation', 'status'],
    });
    this.#observeSeconds = metrics.histogram(
      {
        name: 'quarry_http_request_seconds',
        help: 'Seconds from the request line to the last byte of the reply, by operation.',
        labels: ['operation'],
      },
      latencyBuckets,
    );
    this.#addReplyBytes = metrics.counter({
      name: 'quarry_http_reply_bytes_total',
      help: 'Bytes of reply bodies, by operation.',
      labels: ['operation'],
    });
    metrics.gauge({ name: 'quarry_http_requests_running', help: 'Requests in progress.' }, gauges.running);
    metrics.gauge(
      { name: 'quarry_http_body_bytes', help: 'Bytes of buffered request bodies.' },
      gauges.bodyBytes,
    );
  }

  count({ operation, status, seconds, replyBytes }: CompletedRequest): void {
    this.#addRequest({ operation, status: String(status) }, 1);
    this.#observeSeconds({ operation }, seconds);
    this.#addReplyBytes({ operation }, replyBytes);
  }
}
