import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import type { Metrics } from '../metrics.ts';

/** Milliseconds between two samples; the histogram of Node adds them to every delay. */
const resolutionMs = 10;
const nanosecondsPerSecond = 1e9;
const quantiles = [0.5, 0.9, 0.99, 0.999] as const;

interface DelayWindow {
  /** Seconds by quantile. */
  readonly quantiles: Readonly<Record<string, number>>;
  readonly max: number;
}

/** Delay of this thread's event loop since the previous scrape. */
export class EventLoopDelay {
  readonly #histogram: IntervalHistogram;
  /** Source of all figures of one scrape. */
  #window: DelayWindow | null = null;

  constructor() {
    this.#histogram = monitorEventLoopDelay({ resolution: resolutionMs });
    this.#histogram.enable();
  }

  register(metrics: Metrics): void {
    metrics.gauges(
      {
        name: 'quarry_event_loop_delay_seconds',
        help: 'Delay of the event loop of the main thread since the last scrape, sampled every 10 ms.',
        label: 'quantile',
      },
      () => this.#read().quantiles,
    );
    metrics.gauge(
      {
        name: 'quarry_event_loop_delay_max_seconds',
        help: 'Longest delay of the event loop of the main thread since the last scrape.',
      },
      () => this.#read().max,
    );
  }

  /** Idempotent. */
  close(): void {
    this.#histogram.disable();
  }

  /**
   * Returns one window for all figures of a scrape, which are read in the same turn of the event loop. The
   * next turn starts a new window.
   */
  #read(): DelayWindow {
    if (this.#window !== null) return this.#window;
    const histogram = this.#histogram;
    const delays = quantiles.map(
      (quantile) => [String(quantile), toDelaySeconds(histogram.percentile(100 * quantile))] as const,
    );
    this.#window = {
      quantiles: Object.fromEntries(delays),
      // Without a sample, min and max of the histogram are its sentinel extremes.
      max: histogram.count === 0 ? 0 : toDelaySeconds(histogram.max),
    };
    histogram.reset();
    setImmediate(() => {
      this.#window = null;
    });
    return this.#window;
  }
}

/** Converts a sample in nanoseconds to seconds, without the sampling interval. */
function toDelaySeconds(sample: number): number {
  return Math.max(0, sample / nanosecondsPerSecond - resolutionMs / 1_000);
}
