import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { AggregationWindow } from '../schemas/usage.ts';
import type { Store } from '../store/store.ts';
import { addAmounts, type CounterName, type Counters, counterNames, type UsageKind } from './facts.ts';
import { type EqualPeriodLength, minutesOf, type PeriodLength, periodAt, spansOf } from './periods.ts';
import { readRows, rowDeletions, wordsOf } from './rows.ts';

/** Totals of one subject in one window. */
export interface WindowTotals {
  /** Seconds since the epoch. */
  readonly windowStart: number;
  /** A collection id, or a model. */
  readonly about: string;
  /** An event or query type, or whether the model was called as such. */
  readonly what: string;
  /** As `counterNames` orders them. */
  readonly amounts: readonly number[];
}

export interface WindowQuestion {
  readonly organizationId: string;
  readonly kind: UsageKind;
  /** Seconds since the epoch, both inclusive; facts are as old as their minute. */
  readonly startTime: number;
  readonly endTime: number;
  readonly window: AggregationWindow;
  /** Null for all. */
  readonly about: ReadonlySet<string> | null;
}

const windowLengths: Readonly<Record<AggregationWindow, EqualPeriodLength>> = {
  minutely: 'minute',
  hourly: 'hour',
  daily: 'day',
};

/** Reads what the meter wrote. */
export class UsageLedger {
  readonly #store: Store;
  readonly #clock: Clock;

  constructor(options: { readonly store: Store; readonly clock: Clock }) {
    this.#store = options.store;
    this.#clock = options.clock;
  }

  /** Everything of an organisation that is gone. */
  async forget(organizationId: string): Promise<void> {
    for (;;) {
      const deletions = await rowDeletions(this.#store, organizationId, limits.usageBatchMax);
      if (deletions.length === 0) return;
      await this.#store.write(deletions, { mayUseReserve: true });
    }
  }

  /** Totals per window and subject, oldest window first. 400 when the answer would be too long to send. */
  async windows(question: WindowQuestion): Promise<WindowTotals[]> {
    const length = windowLengths[question.window];
    const windowMinutes = minutesOf(length);
    const totals = new Map<string, { window: number; subject: string; amounts: number[] }>();
    const minutes = {
      from: Math.floor(question.startTime / 60),
      to: Math.floor(question.endTime / 60) + 1,
    };
    const { organizationId, kind } = question;
    for (const span of spansOf(minutes, length)) {
      for await (const row of readRows(this.#store, { organizationId, kind, ...span })) {
        if (question.about !== null && !question.about.has(wordsOf(row.subject)[0])) continue;
        const window = Math.floor((row.period * minutesOf(span.length)) / windowMinutes);
        const key = `${window} ${row.subject}`;
        const known = totals.get(key);
        if (known === undefined) totals.set(key, { window, subject: row.subject, amounts: [...row.amounts] });
        else addAmounts(known.amounts, row.amounts);
        if (totals.size > limits.usageRowsMax) throw tooLong();
      }
    }
    return [...totals.values()]
      .sort((a, b) => a.window - b.window || (a.subject < b.subject ? -1 : 1))
      .map(({ window, subject, amounts }) => {
        const [about, what] = wordsOf(subject);
        return { windowStart: window * windowMinutes * 60, about, what, amounts };
      });
  }

  /** Totals of the organisation since its first day. */
  allTime(organizationId: string, kind: UsageKind): Promise<WindowTotals[]> {
    return this.#totals(organizationId, kind, 'all');
  }

  /** Totals of the organisation in the current calendar month of UTC. */
  thisMonth(organizationId: string, kind: UsageKind): Promise<WindowTotals[]> {
    return this.#totals(organizationId, kind, 'month');
  }

  async #totals(organizationId: string, kind: UsageKind, length: PeriodLength): Promise<WindowTotals[]> {
    const from = periodAt(length, this.#clock.now());
    const found: WindowTotals[] = [];
    for await (const row of readRows(this.#store, { organizationId, kind, length, from, to: from + 1 })) {
      const [about, what] = wordsOf(row.subject);
      found.push({ windowStart: 0, about, what, amounts: row.amounts });
    }
    return found;
  }
}

/** The amounts of a row under the names of their counters. */
export function namedCounters<Kind extends UsageKind>(
  kind: Kind,
  amounts: readonly number[],
): Counters<Kind> {
  const names: readonly CounterName<Kind>[] = counterNames[kind];
  return Object.fromEntries(names.map((name, i) => [name, amounts[i] ?? 0])) as Counters<Kind>;
}

function tooLong(): AppError {
  return new AppError(
    'bad_request',
    `The answer would have more than ${limits.usageRowsMax} rows: ask for a shorter stretch of time or longer windows.`,
  );
}
