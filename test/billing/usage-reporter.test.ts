import Stripe from 'stripe';
import { loadPlans } from '../../src/billing/plans.ts';
import { UsageReporter, type UsedMinute } from '../../src/billing/usage-reporter.ts';
import { limits } from '../../src/core/limits.ts';
import { BillingRecords } from '../../src/storage/billing.ts';
import {
  type BillingAccount,
  type BillingCopy,
  emptyBillingAccount,
  type SubscriptionCopy,
} from '../../src/storage/billing-account.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import { createTestRandom } from '../storage/test-random.ts';
import t, { type Test } from '../support/tap.ts';

/** Usage reports to Stripe: customers, amounts and time ranges. */

const idOf = (count: number) => `00000000-0000-4000-8000-${String(count).padStart(12, '0')}`;
const minuteMs = 60_000;
const start = Date.UTC(2027, 2, 10, 12);
const first = start / minuteMs;

const subscription: SubscriptionCopy = {
  id: 'sub_1',
  status: 'active',
  tier: 'starter',
  itemId: 'si_1',
  priceId: 'price_1',
  startedAt: start,
  periodStart: start,
  periodEnd: Date.UTC(2027, 3, 1),
  pausedAt: null,

  scheduleId: null,
  endsWithPeriod: false,
  pendingDowngrade: null,
  pendingUpgrade: null,
  openInvoice: null,
  isInvoiceDrafted: false,
};
const copy: BillingCopy = {
  readAt: start,
  currency: 'usd',
  creditBalance: 0,
  defaultPaymentMethodId: null,
  paymentMethods: [],
  invoices: [],
  subscription,
};

interface MeterEvent {
  readonly customer: string;
  readonly minute: number;
  readonly tokens: number;
  /** Timestamp of the event as sent, in seconds. */
  readonly at: number;
}

/** Reporter over a store and a fake Stripe that receives events; `used` is the recorded usage. */
async function open(
  used: readonly UsedMinute[],
  onMeterEvent: (meterEvents: MeterEvent) => Promise<void> = async () => {},
) {
  const store = new MemoryStore();
  const records = new BillingRecords(store);
  const time = { ms: start };
  const clock = { now: () => time.ms, monotonic: () => time.ms };
  const meterEvents: MeterEvent[] = [];
  let settled = 0;
  const create = async (event: Stripe.Billing.MeterEventCreateParams) => {
    const { stripe_customer_id: customer, value } = event.payload as Record<string, string>;
    const at = event.timestamp!;
    const one = { customer: customer!, minute: Math.floor(at / 60) - first, tokens: Number(value), at };
    await onMeterEvent(one);
    meterEvents.push(one);
  };
  const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const reports = new UsageReporter({
    store,
    records,
    clock,
    logger: logger as never,
    plans: loadPlans(null),
    stripe: { billing: { meterEvents: { create } } } as unknown as Stripe,
    readUsedMinutes: async ({ metric, from, to }) =>
      metric === 'embed' ? used.filter(({ minute }) => minute >= from && minute < to) : [],
    flushUsage: async () => {
      settled += 1;
    },
  });
  const put = (count: number, more: Partial<BillingAccount> = {}) =>
    store.write(
      records.putAccount(idOf(count), { ...emptyBillingAccount, customerId: `cus_${count}`, copy, ...more }),
    );
  const report = async (minutes: number) => {
    time.ms = start + minutes * minuteMs + limits.usageWriteDelayMsMax;
    await reports.report(new AbortController().signal);
  };
  return { reports, meterEvents, put, report, time, settled: () => settled };
}

const minutes = (...all: number[]): UsedMinute[] =>
  all.map((minute) => ({ minute: first + minute, tokens: 10 + minute }));

t.test('usage is reported in batches, and a rejected customer blocks no others', async (t) => {
  let [running, most] = [0, 0];
  let letAllGo = () => {};
  const allRunning = new Promise<void>((resolve) => {
    letAllGo = resolve;
  });
  const { meterEvents, put, report } = await open(minutes(0), async ({ customer }) => {
    running += 1;
    most = Math.max(most, running);
    // The first reports wait for each other, so that as many run at once as may, on a slow machine too.
    if (running === limits.usageReportsRunningMax) letAllGo();
    await allRunning;
    running -= 1;
    if (customer === 'cus_3') throw new Error('no');
  });
  const everybody = Array.from({ length: 5 * limits.usageReportsRunningMax }, (_, i) => i + 1);
  for (const count of everybody) await put(count);
  await report(1);
  t.equal(most, limits.usageReportsRunningMax);
  t.strictSame(
    meterEvents.map(({ customer }) => customer).sort(),
    everybody
      .filter((count) => count !== 3)
      .map((count) => `cus_${count}`)
      .sort(),
  );
});

t.test('usage until the end of a subscription is reported afterwards, and no later usage', async (t) => {
  const { meterEvents, put, report } = await open(minutes(0, 1, 2, 3, 4, 5));
  await put(1);
  await report(2);
  const ended = { copy: { ...copy, subscription: null }, servedUntil: start + 4 * minuteMs };
  await put(1, ended);
  await report(6);
  await report(7);
  t.strictSame(
    meterEvents.map(({ minute }) => minute),
    [0, 1, 2, 3],
  );
});

t.test(
  'before a subscription ends, usage until now is reported once, including the current minute',
  async (t) => {
    const { reports, meterEvents, put, report, time, settled } = await open(minutes(0, 1, 2, 3));
    await put(1);
    await report(1);
    time.ms = start + 2 * minuteMs + 20_000;
    await Promise.all([reports.reportUntilNow(idOf(1)), report(2)]);
    t.equal(settled(), 1, 'recent usage is flushed first');
    t.strictSame(
      meterEvents.map(({ minute }) => minute),
      [0, 1, 2],
    );
    await report(5);
    t.strictSame(
      meterEvents.map(({ minute }) => minute),
      [0, 1, 2, 3],
    );
  },
);

t.test('usage in the minute in which a subscription starts or resumes is in its period', async (t) => {
  const { meterEvents, put, report } = await open(minutes(0, 1, 5, 6));
  const [startedAt, resumed] = [start + 30_500, start + 5 * minuteMs + 12_000];
  const since = (periodStart: number) => ({
    copy: { ...copy, subscription: { ...subscription, startedAt, periodStart } },
  });
  await put(1, since(startedAt));
  await report(2);
  await put(1, since(resumed));
  await report(7);
  t.strictSame(
    meterEvents.map(({ at }) => at - start / 1_000),
    [31, 60, 312, 360],
  );
});

const dayMs = 86_400_000;

/** Meter event API that deduplicates identifiers for a day and fails as set in `next`. */
class FakeMeterEvents {
  readonly events: { readonly identifier: string; readonly at: number; readonly value: number }[] = [];
  next: 'works' | 'lost before' | 'lost after' = 'works';
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  get metered(): number {
    return this.events.reduce((sum, { value }) => sum + value, 0);
  }

  async create({ identifier = '', payload, timestamp }: Stripe.Billing.MeterEventCreateParams) {
    const how = this.next;
    this.next = 'works';
    if (how === 'lost before') throw new Stripe.errors.StripeConnectionError({ message: 'lost' } as never);
    const now = this.#now();
    if (this.events.some((event) => event.identifier === identifier && event.at + dayMs > now)) {
      const message = `An event already exists with identifier ${identifier}.`;
      throw Object.assign(new Stripe.errors.StripeInvalidRequestError({ message } as never), {
        statusCode: 400,
      });
    }
    const minute = Math.floor((timestamp ?? 0) / 60);
    this.events.push({ identifier, at: now, value: Number(payload.value) });
    this.#minutes.set(minute, (this.#minutes.get(minute) ?? 0) + Number(payload.value));
    if (how === 'lost after') throw new Stripe.errors.StripeConnectionError({ message: 'lost' } as never);
  }

  readonly #minutes = new Map<number, number>();

  async summaries(_meter: string, { start_time: start }: { readonly start_time: number }) {
    return { data: [{ aggregated_value: this.#minutes.get(start / 60) ?? 0 }] };
  }

  async *meters() {
    yield { id: 'mtr_1', event_name: 'quarry_embed_tokens' };
  }
}

const random = createTestRandom();

/** Account of one organization whose usage, plan, Stripe replies and clock change in random steps. */
async function createRandomUsage(t: Test) {
  const store = new MemoryStore();
  const records = new BillingRecords(store);
  const time = { ms: start };
  const clock = { now: () => time.ms, monotonic: () => time.ms };
  const stripe = new FakeMeterEvents(clock.now);
  const used = new Map<number, number>();
  const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const open = () =>
    new UsageReporter({
      store,
      records,
      clock,
      logger: logger as never,
      plans: loadPlans(null),
      stripe: {
        billing: {
          meterEvents: { create: stripe.create.bind(stripe) },
          meters: { list: () => stripe.meters(), listEventSummaries: stripe.summaries.bind(stripe) },
        },
      } as unknown as Stripe,
      readUsedMinutes: async ({ metric, from, to }) =>
        [...used]
          .filter(([minute]) => metric === 'embed' && minute >= from && minute < to)
          .map(([minute, tokens]) => ({ minute, tokens })),
      flushUsage: async () => {},
    });
  const [id, customerId] = [idOf(1), 'cus_1'];
  /** `expected` is the usage while the organization was served. */
  const state = { reports: open(), isServed: false, expected: 0 };
  const put = async (status: string, servedUntil: number | null, periodStart = time.ms) => {
    const changed = { ...subscription, status, periodStart };
    const changes = { customerId, servedUntil, copy: { ...copy, subscription: changed } };
    await store.write(records.putAccount(id, { ...emptyBillingAccount, ...changes }));
  };
  const tryTo = (work: Promise<void>) => work.then(() => true).catch(() => false);
  const steps: readonly (() => Promise<void>)[] = [
    async () => {
      const tokens = 1 + random.below(40);
      const minute = Math.floor(time.ms / minuteMs);
      used.set(minute, (used.get(minute) ?? 0) + tokens);
      if (state.isServed) state.expected += tokens;
    },
    async () => {
      time.ms += 1_000 * (1 + random.below(20));
    },
    async () => {
      const pauses = state.isServed && (await tryTo(state.reports.reportUntilNow(id)));
      if (!pauses) return;
      t.equal(stripe.metered, state.expected, 'a pause meters all usage');
      await put('paused', time.ms);
      state.isServed = false;
    },
    async () => {
      if (state.isServed || !(await tryTo(state.reports.startServing(id)))) return;
      await put('active', null);
      state.isServed = true;
    },
    async () => {
      stripe.next = random.below(2) === 0 ? 'lost before' : 'lost after';
    },
    () => state.reports.report(new AbortController().signal),
    async () => {
      state.reports = open();
      if (random.below(10) === 0) time.ms += dayMs + random.below(3) * 3_600_000;
    },
  ];
  await put('incomplete', null);
  return { id, stripe, state, steps };
}

t.test(
  `pauses, lost replies, crashes and days in any order meter exactly the usage while serving (seed ${random.seed})`,
  async (t) => {
    const { id, stripe, state, steps } = await createRandomUsage(t);
    for (let step = 0; step < 3_000 && t.passing(); step += 1) await steps[random.below(steps.length)]!();
    stripe.next = 'works';
    if (state.isServed) await state.reports.reportUntilNow(id);
    t.ok(stripe.events.length > 20, `${stripe.events.length} events`);
    t.equal(stripe.metered, state.expected);
  },
);
