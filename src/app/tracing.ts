import type { Settings } from '../config/schema.ts';
import type { Logger } from '../core/logger.ts';
import type { Metrics } from '../core/metrics.ts';
import type { Egress } from '../egress/egress.ts';
import { SpanExporter } from '../tracing/span-exporter.ts';
import { Tracer } from '../tracing/tracer.ts';
import { apiVersion } from './request-handler.ts';
import type { ResourceStack } from './resource-stack.ts';
import { clock, random } from './runtime.ts';

interface TracingDependencies {
  readonly egress: Egress;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Returns null if no traces are recorded. */
export function openTracer(
  { traceEndpoint, traceSamplesPerThousand, traceHeaders }: Settings,
  resources: ResourceStack,
  { egress, logger, metrics }: TracingDependencies,
): Tracer | null {
  if (traceEndpoint === null) return null;
  const exported = metrics.counter({
    name: 'quarry_trace_spans_exported_total',
    help: 'Spans that the collector of traces has accepted.',
  });
  const dropped = metrics.counter({
    name: 'quarry_trace_spans_dropped_total',
    help: 'Spans that were dropped: the queue or their trace was full, or the collector rejected them.',
  });
  const countDropped = (spans: number) => dropped({}, spans);
  const exporter = new SpanExporter({
    endpoint: traceEndpoint,
    headers: parseHeaders(traceHeaders),
    source: { version: apiVersion, instanceId: random.uuid() },
    egress,
    logger,
    countDropped,
    countExported: (spans) => exported({}, spans),
  });
  resources.add(() => exporter.close());
  return new Tracer({ samplesPerThousand: traceSamplesPerThousand, exporter, clock, random, countDropped });
}

/** Parses `name=value,name=value`. */
function parseHeaders(list: string | null): Record<string, string> {
  const pairs = (list?.split(',') ?? []).map((pair) => [
    pair.slice(0, pair.indexOf('=')),
    pair.slice(pair.indexOf('=') + 1),
  ]);
  return Object.fromEntries(pairs);
}
