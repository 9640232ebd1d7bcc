/** Caller of a request by W3C Trace Context. */
export interface TraceParent {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

const pattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Parses a `traceparent` header; null if it is invalid, which counts as absent. */
export function parseTraceParent(header: string): TraceParent | null {
  const [, version, traceId = '', spanId = '', flags = '', rest] = pattern.exec(header.trim()) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** Formats the header of a sampled span. */
export function formatTraceParent({ traceId, spanId }: Pick<TraceParent, 'traceId' | 'spanId'>): string {
  return `00-${traceId}-${spanId}-01`;
}
