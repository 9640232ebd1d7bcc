import { assert } from '../../src/core/assert.ts';
import { LatencyHistogram } from './histogram.ts';
import type { LoadOutcome } from './load-run.ts';
import type { WrkOutcome } from './wrk.ts';

/** Results of one measured window, or of several joined. */
export interface LoadFigures {
  readonly queriesPerSecond: number;
  readonly p50Ms: number | null;
  readonly p90Ms: number | null;
  readonly p99Ms: number | null;
  readonly p999Ms: number | null;
  readonly mostMs: number | null;
  /** Number of latencies that the quantiles are computed from. */
  readonly samples: number;
  readonly abandoned: number;
  readonly serverCpuUs: number | null;
  readonly clientCpuUs: number | null;
  /** Open loop: p99 delay of the generator's own timer. */
  readonly latenessP99Ms: number | null;
}

/** Result of wrk or of the built-in generator. */
export type ClientOutcome = { readonly own: LoadOutcome } | { readonly wrk: WrkOutcome };

/** Joins the outcomes of one configuration. */
export function joinOutcomes(outcomes: readonly ClientOutcome[]): LoadFigures {
  const own = outcomes.flatMap((outcome) => ('own' in outcome ? [outcome.own] : []));
  const wrk = outcomes.flatMap((outcome) => ('wrk' in outcome ? [outcome.wrk] : []));
  assert(own.length === 0 || wrk.length === 0, 'a configuration has one client');
  const all = [...own, ...wrk];
  const sum = <T>(of: readonly T[], value: (one: T) => number) =>
    of.reduce((total, one) => total + value(one), 0);
  const replies = sum(all, (outcome) => outcome.replies);
  const serverKnown = all.every(({ serverCpuMs }) => serverCpuMs !== null);
  const perReplyUs = (ms: number) => (replies === 0 ? null : (ms * 1_000) / replies);
  return {
    queriesPerSecond: (replies * 1_000) / sum(all, ({ windowMs }) => windowMs),
    serverCpuUs: serverKnown ? perReplyUs(sum(all, ({ serverCpuMs }) => serverCpuMs ?? 0)) : null,
    samples: wrk.length > 0 ? replies : sum(own, ({ latencies }) => latencies.values),
    abandoned: sum(own, ({ abandoned }) => abandoned),
    clientCpuUs: wrk.length > 0 ? null : perReplyUs(sum(own, ({ clientCpuMs }) => clientCpuMs)),
    ...(wrk.length > 0 ? wrkQuantiles(wrk) : ownQuantiles(own)),
  };
}

type Quantiles = Pick<LoadFigures, 'p50Ms' | 'p90Ms' | 'p99Ms' | 'p999Ms' | 'mostMs' | 'latenessP99Ms'>;

function ownQuantiles(outcomes: readonly LoadOutcome[]): Quantiles {
  const latencies = new LatencyHistogram();
  const lateness = new LatencyHistogram();
  for (const outcome of outcomes) {
    latencies.add(outcome.latencies);
    lateness.add(outcome.lateness);
  }
  return {
    p50Ms: latencies.quantileMs(0.5),
    p90Ms: latencies.quantileMs(0.9),
    p99Ms: latencies.quantileMs(0.99),
    p999Ms: latencies.quantileMs(0.999),
    mostMs: latencies.mostMs,
    latenessP99Ms: lateness.quantileMs(0.99),
  };
}

function wrkQuantiles(outcomes: readonly WrkOutcome[]): Quantiles {
  const middle = (of: (outcome: WrkOutcome) => number) => {
    const sorted = outcomes.map(of).sort((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? null;
  };
  return {
    p50Ms: middle(({ p50Ms }) => p50Ms),
    p90Ms: middle(({ p90Ms }) => p90Ms),
    p99Ms: middle(({ p99Ms }) => p99Ms),
    p999Ms: middle(({ p999Ms }) => p999Ms),
    mostMs: Math.max(...outcomes.map(({ mostMs }) => mostMs)),
    latenessP99Ms: null,
  };
}
