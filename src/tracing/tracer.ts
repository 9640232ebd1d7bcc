import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import type { SpanAttributes, Trace } from '../core/trace.ts';
import { RandomPool } from './random-pool.ts';
import { encodeSpan, type Span, spanKinds } from './span.ts';
import type { SpanExporter } from './span-exporter.ts';
import { formatTraceParent, parseTraceParent, type TraceParent } from './traceparent.ts';

export interface TracerOptions {
  readonly samplesPerThousand: number;
  readonly exporter: Pick<SpanExporter, 'add'>;
  readonly clock: Clock;
  readonly random: Random;
  /** Counts spans beyond the limit of their trace. */
  readonly countDropped: (spans: number) => void;
}

export interface RootSpan {
  readonly name: string;
  readonly kind: keyof typeof spanKinds;
  readonly attributes: SpanAttributes;
  readonly isError: boolean;
}

/** Decides which requests and jobs are traced. */
export class Tracer {
  readonly #options: TracerOptions;
  readonly #threshold: number;
  readonly #randomPool: RandomPool;
  #second = 0;
  #requestedInSecond = 0;

  constructor(options: TracerOptions) {
    this.#options = options;
    this.#randomPool = new RandomPool(options.random);
    this.#threshold = (options.samplesPerThousand / 1_000) * 65_536;
  }

  /**
   * Starts the trace of a request; null if it is not sampled. A valid `traceparent` decides: the caller knows whether
   * its trace is recorded. Callers get at most a hundred traces per second this way; the others are sampled.
   */
  startRequest(header: string | undefined): RecordedTrace | null {
    const parent = header === undefined ? null : parseTraceParent(header);
    if (parent === null) return this.#isSampled() ? this.#start(null) : null;
    if (!parent.isSampled) return null;
    return this.#mayRecord() || this.#isSampled() ? this.#start(parent) : null;
  }

  /** Starts the trace of a step of a document; null if it is not sampled. */
  startJob(): RecordedTrace | null {
    return this.#isSampled() ? this.#start(null) : null;
  }

  #start(parent: TraceParent | null): RecordedTrace {
    return new RecordedTrace(this.#options, parent, this.#randomPool);
  }

  #isSampled(): boolean {
    return this.#randomPool.integer() < this.#threshold;
  }

  #mayRecord(): boolean {
    const second = Math.floor(this.#options.clock.monotonic() / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#requestedInSecond = 0;
    }
    this.#requestedInSecond += 1;
    return this.#requestedInSecond <= limits.tracesRequestedPerSecondMax;
  }
}

/** A sampled trace: a root span and spans below it. */
export class RecordedTrace implements Trace {
  readonly #options: TracerOptions;
  readonly #randomPool: RandomPool;
  readonly #parent: TraceParent | null;
  readonly #traceId: string;
  readonly #rootId: string;
  readonly #startedAt: number;
  /** Milliseconds from the monotonic clock to the epoch. */
  readonly #epochOffset: number;
  /** Encoded. */
  readonly #spans: string[] = [];
  #dropped = 0;

  constructor(options: TracerOptions, parent: TraceParent | null, randomPool: RandomPool) {
    const { clock } = options;
    this.#options = options;
    this.#randomPool = randomPool;
    this.#parent = parent;
    this.#traceId = parent?.traceId ?? randomPool.hex(16);
    this.#rootId = randomPool.hex(8);
    this.#startedAt = clock.monotonic();
    this.#epochOffset = clock.now() - this.#startedAt;
  }

  /** Value of `traceresponse`: the trace, and the span of this server. */
  get responseHeader(): string {
    return formatTraceParent({ traceId: this.#traceId, spanId: this.#rootId });
  }

  addSpan(name: string, startedAt: number, attributes: SpanAttributes = {}): void {
    // The last place is the root's.
    if (this.#spans.length >= limits.spansPerTraceMax - 1) {
      this.#dropped += 1;
      return;
    }
    const ids = { traceId: this.#traceId, spanId: this.#randomPool.hex(8), parentSpanId: this.#rootId };
    const span = { name, kind: spanKinds.internal, attributes, isError: false };
    this.#spans.push(encodeSpan({ ...ids, ...span, ...this.#timesSince(startedAt) }));
  }

  /** Ends the root span and queues the trace for export; called once. */
  end({ name, kind, attributes, isError }: RootSpan): void {
    const ids = {
      traceId: this.#traceId,
      spanId: this.#rootId,
      parentSpanId: this.#parent?.spanId ?? null,
    };
    const span = { name, kind: spanKinds[kind], attributes, isError };
    this.#spans.push(encodeSpan({ ...ids, ...span, ...this.#timesSince(this.#startedAt) }));
    if (this.#dropped > 0) this.#options.countDropped(this.#dropped);
    this.#options.exporter.add(this.#spans);
  }

  #timesSince(startedAt: number): Pick<Span, 'startedAt' | 'endedAt'> {
    const offset = this.#epochOffset;
    return { startedAt: startedAt + offset, endedAt: this.#options.clock.monotonic() + offset };
  }
}
