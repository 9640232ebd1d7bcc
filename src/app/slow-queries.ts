import type { Settings } from '../config/schema.ts';
import type { Logger } from '../core/logger.ts';
import type { Metrics } from '../core/metrics.ts';
import { SlowQueryLog } from '../services/slow-query-log.ts';
import { clock } from './runtime.ts';

/** Returns null if slow queries are not logged. */
export function openSlowQueryLog(
  { slowQueryMs }: Settings,
  { logger, metrics }: { readonly logger: Logger; readonly metrics: Metrics },
): SlowQueryLog | null {
  if (slowQueryMs === 0) return null;
  const increment = metrics.counter({
    name: 'quarry_slow_queries_total',
    help: 'Queries that took at least QUARRY_SLOW_QUERY_MS.',
  });
  return new SlowQueryLog({ thresholdMs: slowQueryMs, clock, logger, count: () => increment({}, 1) });
}
