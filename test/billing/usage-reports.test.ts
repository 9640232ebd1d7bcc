import { randomUUID } from 'node:crypto';
import type Stripe from 'stripe';
import t from 'tap';
import { limits } from '../../src/base/limits.ts';
import { StripeCalls } from '../../src/billing/calls.ts';
import { loadPlans } from '../../src/billing/plans.ts';
import { UsageReports, type UsedMinute } from '../../src/billing/usage-reports.ts';
import {
  type BillingAccount,
  type BillingCopy,
  BillingRecords,
  nobody,
  type SubscriptionCopy,
} from '../../src/store/billing.ts';
import { MemoryStore } from '../../src/store/memory-store.ts';

/** What Stripe is told of usage, of whom and until when. */

const idOf = (count: number) => `00000000-0000-4000-8000-${String(count).padStart(12, '0')}`;
const minuteMs = 60_000;
const start = Date.UTC(2027, 2, 10, 12);
const first = start / minuteMs;

const subscription: SubscriptionCopy = {
  ...{ id: 'sub_1', status: 'active', tier: 'starter', itemId: 'si_1', priceId: 'price_1' },
  ...{ startedAt: start, periodStart: start, periodEnd: Date.UTC(2027, 3, 1), pausedAt: null },
  ...{
    scheduleId: null,
    endsWithPeriod: false,
    pendingDowngrade: null,
    pendingUpgrade: null,
    openInvoice: null,
    isInvoiceDrafted: false,
  },
};
const copy: BillingCopy = {
  ...{ readAt: start, currency: 'usd', creditBalance: 0, defaultPaymentMethodId: null },
  ...{ paymentMethods: [], invoices: [], subscription },
};

interface Heard {
  readonly customer: string;
  readonly minute: number;
  readonly tokens: number;
  /** As it was sent, in seconds. */
  readonly at: number;
}

/** Reports over a store, and over a Stripe that hears; everybody used `used`. */
async function open(used: readonly UsedMinute[], hear: (heard: Heard) => Promise<void> = async () => {}) {
  const store = new MemoryStore();
  const records = new BillingRecords(store);
  const time = { ms: start };
  const clock = { now: () => time.ms, monotonic: () => time.ms };
  const chance = { uuid: randomUUID } as never;
  const heard: Heard[] = [];
  let settled = 0;
  const create = async (event: Stripe.Billing.MeterEventCreateParams) => {
    const { stripe_customer_id: customer, value } = event.payload as Record<string, string>;
    const at = event.timestamp!;
    const one = { customer: customer!, minute: Math.floor(at / 60) - first, tokens: Number(value), at };
    await hear(one);
    heard.push(one);
  };
  const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const reports = new UsageReports({
    ...{ store, records, clock, logger: logger as never, plans: loadPlans(null) },
    stripe: { billing: { meterEvents: { create } } } as unknown as Stripe,
    calls: new StripeCalls({ store, records, clock, chance }),
    usedMinutes: async ({ metric, from, to }) =>
      metric === 'embed' ? used.filter(({ minute }) => minute >= from && minute < to) : [],
    settleUsage: async () => {
      settled += 1;
    },
  });
  const put = (count: number, more: Partial<BillingAccount> = {}) =>
    store.write(records.putAccount(idOf(count), { ...nobody, customerId: `cus_${count}`, copy, ...more }));
  const report = async (minutes: number) => {
    time.ms = start + minutes * minuteMs + limits.usageSettledMs;
    await reports.report(new AbortController().signal);
  };
  return { reports, heard, put, report, time, settled: () => settled };
}

const minutes = (...all: number[]): UsedMinute[] =>
  all.map((minute) => ({ minute: first + minute, tokens: 10 + minute }));

t.test('some are reported at a time, and one whom Stripe refuses stops nobody', async (t) => {
  let [running, most] = [0, 0];
  const { heard, put, report } = await open(minutes(0), async ({ customer }) => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setTimeout(resolve, 2));
    running -= 1;
    if (customer === 'cus_3') throw new Error('no');
  });
  const everybody = Array.from({ length: 5 * limits.usageReportsRunningMax }, (_, i) => i + 1);
  for (const count of everybody) await put(count);
  await report(1);
  t.equal(most, limits.usageReportsRunningMax);
  t.strictSame(
    heard.map(({ customer }) => customer).sort(),
    everybody
      .filter((count) => count !== 3)
      .map((count) => `cus_${count}`)
      .sort(),
  );
});

t.test(
  'what was used until a subscription ended is reported after it, and nothing that came later',
  async (t) => {
    const { heard, put, report } = await open(minutes(0, 1, 2, 3, 4, 5));
    await put(1);
    await report(2);
    const ended = { copy: { ...copy, subscription: null }, servedUntil: start + 4 * minuteMs };
    await put(1, ended);
    await report(6);
    await report(7);
    t.strictSame(
      heard.map(({ minute }) => minute),
      [0, 1, 2, 3],
    );
  },
);

t.test('before an end everything until now is reported, the running minute too, and once', async (t) => {
  const { reports, heard, put, report, time, settled } = await open(minutes(0, 1, 2, 3));
  await put(1);
  await report(1);
  time.ms = start + 2 * minuteMs + 20_000;
  await Promise.all([reports.reportUntilNow(idOf(1)), report(2)]);
  t.equal(settled(), 1, 'what was used a moment ago is written down first');
  t.strictSame(
    heard.map(({ minute }) => minute),
    [0, 1, 2],
  );
  await report(5);
  t.strictSame(
    heard.map(({ minute }) => minute),
    [0, 1, 2, 3],
  );
});

t.test(
  'what is used in the minute in which a subscription begins or is resumed lies in its period',
  async (t) => {
    const { heard, put, report } = await open(minutes(0, 1, 5, 6));
    const [begun, resumed] = [start + 30_500, start + 5 * minuteMs + 12_000];
    const since = (periodStart: number) => ({
      copy: { ...copy, subscription: { ...subscription, startedAt: begun, periodStart } },
    });
    await put(1, since(begun));
    await report(2);
    await put(1, since(resumed));
    await report(7);
    t.strictSame(
      heard.map(({ at }) => at - start / 1_000),
      [31, 60, 312, 360],
    );
  },
);
