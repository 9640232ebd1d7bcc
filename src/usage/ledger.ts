import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import type { AggregationWindow } from '../schemas/usage.ts';
import type { Store } from '../storage/store.ts';
import {
  coverSpans,
  type FixedPeriodLength,
  minutesPerPeriod,
  type PeriodLength,
  periodAt,
} from './periods.ts';
import { parseSubject, readRows, rowDeletions } from './rows.ts';
import {
  addAmounts,
  type CounterName,
  counterNames,
  type UsageCounters,
  type UsageKind,
} from './usage-events.ts';

/** Totals of one subject in one window. */
export interface WindowTotals {
  /** Seconds since the epoch. */
  readonly windowStart: number;
  /** Collection id or model. */
  readonly subjectId: string;
  /** Event or query type; for models, whether the model was called explicitly. */
  readonly category: string;
  /** In the order of `counterNames`; see `amountsOf`. */
  readonly amounts: readonly number[];
}

export interface WindowQuery {
  readonly organizationId: string;
  readonly kind: UsageKind;
  /** Seconds since the epoch, both inclusive. Events have a resolution of one minute. */
  readonly startTime: number;
  readonly endTime: number;
  readonly window: AggregationWindow;
  /** Null for all. */
  readonly subjectIds: ReadonlySet<string> | null;
}

const windowLengths: Readonly<Record<AggregationWindow, FixedPeriodLength>> = {
  minutely: 'minute',
  hourly: 'hour',
  daily: 'day',
};

/** Reads the totals that `UsageMeter` writes. */
export class UsageLedger {
  readonly #store: Store;
  readonly #clock: Clock;

  constructor(options: { readonly store: Store; readonly clock: Clock }) {
    this.#store = options.store;
    this.#clock = options.clock;
  }

  /** Deletes all totals of a deleted organization. */
  async deleteAll(organizationId: string): Promise<void> {
    for (;;) {
      const deletions = await rowDeletions(this.#store, organizationId, limits.usageBatchMax);
      if (deletions.length === 0) return;
      await this.#store.write(deletions, { mayUseReserve: true });
    }
  }

  /**
   * Totals per window and subject, oldest window first. Errors: 400 if there would be more than
   * `usageRowsMax` rows.
   */
  async windows(query: WindowQuery): Promise<WindowTotals[]> {
    const length = windowLengths[query.window];
    const windowMinutes = minutesPerPeriod(length);
    const totals = new Map<string, { window: number; subject: string; amounts: number[] }>();
    const minutes = {
      from: Math.floor(query.startTime / 60),
      to: Math.floor(query.endTime / 60) + 1,
    };
    const { organizationId, kind } = query;
    for (const span of coverSpans(minutes, length)) {
      for await (const row of readRows(this.#store, { organizationId, kind, ...span })) {
        if (query.subjectIds !== null && !query.subjectIds.has(parseSubject(row.subject)[0])) continue;
        const window = Math.floor((row.period * minutesPerPeriod(span.length)) / windowMinutes);
        const key = `${window} ${row.subject}`;
        const existing = totals.get(key);
        if (existing === undefined)
          totals.set(key, { window, subject: row.subject, amounts: [...row.amounts] });
        else addAmounts(existing.amounts, row.amounts);
        if (totals.size > limits.usageRowsMax) throw tooManyRowsError();
      }
    }
    return [...totals.values()]
      .sort((a, b) => a.window - b.window || (a.subject < b.subject ? -1 : 1))
      .map(({ window, subject, amounts }) => {
        const [subjectId, category] = parseSubject(subject);
        return { windowStart: window * windowMinutes * 60, subjectId, category, amounts };
      });
  }

  /** All-time totals of the organization. */
  allTime(organizationId: string, kind: UsageKind): Promise<WindowTotals[]> {
    return this.#totals(organizationId, kind, 'all');
  }

  /** Totals of the organization in the current calendar month (UTC). */
  thisMonth(organizationId: string, kind: UsageKind): Promise<WindowTotals[]> {
    return this.#totals(organizationId, kind, 'month');
  }

  async #totals(organizationId: string, kind: UsageKind, length: PeriodLength): Promise<WindowTotals[]> {
    const from = periodAt(length, this.#clock.now());
    const totals: WindowTotals[] = [];
    for await (const row of readRows(this.#store, { organizationId, kind, length, from, to: from + 1 })) {
      const [subjectId, category] = parseSubject(row.subject);
      totals.push({ windowStart: 0, subjectId, category, amounts: row.amounts });
    }
    return totals;
  }
}

/** Returns the amounts of a row by the names of their counters. */
export function namedCounters<Kind extends UsageKind>(
  kind: Kind,
  amounts: readonly number[],
): UsageCounters<Kind> {
  const names: readonly CounterName<Kind>[] = counterNames[kind];
  return Object.fromEntries(names.map((name, i) => [name, amounts[i] ?? 0])) as UsageCounters<Kind>;
}

function tooManyRowsError(): AppError {
  return new AppError(
    'bad_request',
    `The reply would have more than ${limits.usageRowsMax} rows. Request a shorter time range or longer windows.`,
  );
}
