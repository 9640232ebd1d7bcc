import { Counter, Gauge, Histogram, Registry } from 'prom-client';

interface MetricOptions<Label extends string> {
  /** Name by Prometheus convention: `quarry_`, the subject, the unit. */
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly Label[];
}

type LabelValues<Label extends string> = Readonly<Record<Label, string>>;

/** Metrics of the process for Prometheus. All metrics are registered here. */
export class Metrics {
  readonly #registry = new Registry();

  /** Registers a counter. Returns a function that increments it. */
  counter<Label extends string = never>({
    labels = [],
    ...options
  }: MetricOptions<Label>): (values: LabelValues<Label>, amount: number) => void {
    const counter = new Counter({ ...options, labelNames: labels, registers: [this.#registry] });
    return (values, amount) => counter.inc(values, amount);
  }

  /**
   * Registers a histogram over `buckets` (ascending upper bounds). Returns a function that records an
   * observation.
   */
  histogram<Label extends string = never>(
    { labels = [], ...options }: MetricOptions<Label>,
    buckets: readonly number[],
  ): (values: LabelValues<Label>, observed: number) => void {
    const histogram = new Histogram({
      ...options,
      labelNames: labels,
      buckets: [...buckets],
      registers: [this.#registry],
    });
    return (values, observed) => histogram.observe(values, observed);
  }

  /** Registers a gauge. `read` is called at each scrape. */
  gauge(options: Omit<MetricOptions<never>, 'labels'>, read: () => number): void {
    new Gauge({
      ...options,
      registers: [this.#registry],
      collect() {
        this.set(read());
      },
    });
  }

  /** Registers a gauge with one sample per value of `label`. */
  gauges<Label extends string>(
    { label, ...options }: Omit<MetricOptions<Label>, 'labels'> & { readonly label: Label },
    read: () => Readonly<Record<string, number>> | Promise<Readonly<Record<string, number>>>,
  ): void {
    new Gauge<Label>({
      ...options,
      labelNames: [label],
      registers: [this.#registry],
      async collect() {
        const samples = Object.entries(await read());
        this.reset();
        for (const [value, sample] of samples) this.labels(value).set(sample);
      },
    });
  }

  /** Media type of `text`. */
  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Returns all metrics in the Prometheus exposition format. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }
}
