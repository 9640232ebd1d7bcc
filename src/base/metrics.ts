import { Counter, Gauge, Histogram, Registry } from 'prom-client';

interface MetricName<Label extends string> {
  /** As Prometheus wants it: `quarry_`, the thing, the unit. */
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly Label[];
}

type Values<Label extends string> = Readonly<Record<Label, string>>;

/** The figures of the process, for Prometheus. Everything that is measured goes through one of these. */
export class Metrics {
  readonly #registry = new Registry();

  /** Something that only grows; the function adds to it. */
  counter<Label extends string = never>({
    labels = [],
    ...words
  }: MetricName<Label>): (values: Values<Label>, amount: number) => void {
    const counter = new Counter({ ...words, labelNames: labels, registers: [this.#registry] });
    return (values, amount) => counter.inc(values, amount);
  }

  /** A distribution over `buckets`, ascending upper bounds; the function adds an observation. */
  histogram<Label extends string = never>(
    { labels = [], ...words }: MetricName<Label>,
    buckets: readonly number[],
  ): (values: Values<Label>, observed: number) => void {
    const histogram = new Histogram({
      ...words,
      labelNames: labels,
      buckets: [...buckets],
      registers: [this.#registry],
    });
    return (values, observed) => histogram.observe(values, observed);
  }

  /** A figure that goes up and down, read when somebody asks. */
  gauge(words: Omit<MetricName<never>, 'labels'>, read: () => number): void {
    new Gauge({
      ...words,
      registers: [this.#registry],
      collect() {
        this.set(read());
      },
    });
  }

  /** One figure for each value of a label. */
  gauges<Label extends string>(
    { label, ...words }: Omit<MetricName<Label>, 'labels'> & { readonly label: Label },
    read: () => Readonly<Record<string, number>> | Promise<Readonly<Record<string, number>>>,
  ): void {
    new Gauge<Label>({
      ...words,
      labelNames: [label],
      registers: [this.#registry],
      async collect() {
        const figures = Object.entries(await read());
        this.reset();
        for (const [value, figure] of figures) this.labels(value).set(figure);
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
