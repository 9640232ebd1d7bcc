export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** Spans of one sampled request or job; code that may run without a trace gets null. */
export interface Trace {
  /** Records a span from `startedAt` (milliseconds of `Clock.monotonic()`) until now. */
  addSpan(name: string, startedAt: number, attributes?: SpanAttributes): void;
}
