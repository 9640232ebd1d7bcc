import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import type { Egress } from '../egress/egress.ts';
import { encodeExport, type SpanSource } from './span.ts';

export interface SpanExporterOptions {
  /** URL of the collector, such as `http://127.0.0.1:4318/v1/traces`. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly source: SpanSource;
  readonly egress: Pick<Egress, 'fetch'>;
  readonly logger: Logger;
  readonly countExported: (spans: number) => void;
  readonly countDropped: (spans: number) => void;
  readonly intervalMs?: number;
}

/** Statuses after which OTLP tells a client to send the same spans again. */
const retryableStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** A reply with which the collector rejects the spans for good. */
class RejectedError extends Error {}

/**
 * Sends finished spans to a collector (OTLP over HTTP, in JSON), in batches. Spans that do not fit into the queue are
 * dropped and counted. An unavailable collector is logged once per outage.
 */
export class SpanExporter {
  readonly #options: SpanExporterOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #closing = new AbortController();
  #queue: string[] = [];
  #flushing: Promise<void> | null = null;
  #hasFailed = false;

  constructor(options: SpanExporterOptions) {
    this.#options = options;
    const { intervalMs = limits.spanExportMs } = options;
    this.#timer = setInterval(() => void this.flush(), intervalMs).unref();
  }

  /** Queues the encoded spans of one trace. */
  add(spans: readonly string[]): void {
    const free = limits.spansQueuedMax - this.#queue.length;
    for (const span of spans.slice(0, free)) this.#queue.push(span);
    if (spans.length > free) this.#options.countDropped(spans.length - Math.max(0, free));
    if (this.#queue.length >= limits.spansPerExportMax && !this.#hasFailed) void this.flush();
  }

  /** Sends the queued spans. Never rejects. */
  flush(): Promise<void> {
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = null;
    });
    return this.#flushing;
  }

  /** Sends the queued spans for at most two seconds; drops those that remain. Idempotent. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    const timer = setTimeout(() => this.#closing.abort(), limits.spanCloseMsMax);
    await this.flush();
    clearTimeout(timer);
    this.#options.countDropped(this.#queue.length);
    this.#queue = [];
  }

  async #flush(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, limits.spansPerExportMax);
      try {
        const rejected = await this.#send(batch);
        this.#options.countExported(batch.length - rejected);
        this.#options.countDropped(rejected);
        if (this.#hasFailed) this.#options.logger.info({}, 'trace export recovered');
        this.#hasFailed = false;
      } catch (error) {
        this.#recordFailure(error);
        if (error instanceof RejectedError) {
          this.#options.countDropped(batch.length);
          continue;
        }
        this.#requeue(batch);
        return;
      }
    }
  }

  /** Returns the number of spans that the collector rejected. */
  async #send(batch: readonly string[]): Promise<number> {
    const { endpoint, headers, source, egress } = this.#options;
    const reply = await egress.fetch(endpoint, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: encodeExport(batch, source),
      signal: AbortSignal.any([this.#closing.signal, AbortSignal.timeout(limits.spanExportMsMax)]),
    });
    const text = await reply.text();
    if (retryableStatuses.has(reply.status)) throw new Error(`the collector replied ${reply.status}`);
    if (!reply.ok) throw new RejectedError(`the collector rejected the spans with ${reply.status}`);
    return Math.min(batch.length, readRejectedSpans(text));
  }

  /** The oldest spans are dropped if others have taken their place. */
  #requeue(batch: readonly string[]): void {
    const free = limits.spansQueuedMax - this.#queue.length;
    const kept = free <= 0 ? [] : batch.slice(-free);
    this.#options.countDropped(batch.length - kept.length);
    this.#queue = [...kept, ...this.#queue];
  }

  #recordFailure(error: unknown): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    const { message, cause } = error as Error;
    const reason = cause instanceof Error ? `${message}: ${cause.message}` : message;
    this.#options.logger.warn({ endpoint: this.#options.endpoint, reason }, 'trace export failed');
  }
}

function readRejectedSpans(text: string): number {
  try {
    const { partialSuccess } = JSON.parse(text) as {
      partialSuccess?: { rejectedSpans?: string | number };
    };
    const rejected = Number(partialSuccess?.rejectedSpans ?? 0);
    return Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0;
  } catch {
    return 0; // Collectors may reply with an empty body or with protobuf.
  }
}
