import { Counter, Gauge, Histogram, Registry } from 'prom-client';

interface MetricOptions<Label extends string> {
  /** As Prometheus wants it: `quarry_`, the thing, the unit. */
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly Label[];
}

type LabelValues<Label extends string> = Readonly<Record<Label, string>>;

/** The figures of the process, for Prometheus. Everything that is measured goes through one of these. */
export class Metrics {
  readonly #registry = new Registry();

  /** Something that only grows; the function adds to it. */
  counter<Label extends string = never>({
    labels = [],
    ...options
  }: MetricOptions<Label>): (values: LabelValues<Label>, amount: number) => void {
    const counter = new Counter({ ...options, labelNames: labels, registers: [this.#registry] });
    return (values, amount) => counter.inc(values, amount);
  }

  /** A distribution over `buckets`, ascending upper bounds; the function adds an observation. */
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

  /** A figure that goes up and down, read when somebody asks. */
  gauge(options: Omit<MetricOptions<never>, 'labels'>, read: () => number): void {
    new Gauge({
      ...options,
      registers: [this.#registry],
      collect() {
        this.set(read());
      },
    });
  }

  /** One figure for each value of a label. */
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

  /** Everything, in the exposition format of Prometheus. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }
}
