import type { Metrics } from '../core/metrics.ts';
import type { SourceCounts } from '../storage/sources.ts';
import type { SourceScheduler, SourceSchedulerOptions } from './source-scheduler.ts';

/** Returns a function that counts runs by kind and outcome, and their items by result. */
export function createRunCounter(metrics: Metrics): SourceSchedulerOptions['onRunEnd'] {
  const countRuns = metrics.counter({
    name: 'quarry_source_runs_total',
    help: 'Runs of sources that ended, by kind and outcome.',
    labels: ['kind', 'outcome'],
  });
  const countItems = metrics.counter({
    name: 'quarry_source_items_total',
    help: 'Items of ended runs of sources, by kind and result.',
    labels: ['kind', 'result'],
  });
  return ({ kind }, { outcome, counts }) => {
    countRuns({ kind, outcome }, 1);
    for (const result of Object.keys(counts) as (keyof SourceCounts)[])
      countItems({ kind, result }, counts[result]);
  };
}

/** Registers metrics of the states of sources. */
export function registerSourceMetrics(
  metrics: Metrics,
  scheduler: Pick<SourceScheduler, 'statistics'>,
): void {
  metrics.gauges({ name: 'quarry_sources', help: 'Sources by state.', label: 'state' }, () => ({
    ...scheduler.statistics().states,
  }));
  metrics.gauge(
    { name: 'quarry_sources_failing', help: 'Sources whose last run failed.' },
    () => scheduler.statistics().failing,
  );
  metrics.gauge(
    {
      name: 'quarry_source_lag_seconds',
      help: 'Longest time that a due source has been waiting for its run.',
    },
    () => scheduler.statistics().lagMs / 1_000,
  );
}
