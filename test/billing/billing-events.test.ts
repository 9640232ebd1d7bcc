import { mock } from 'node:test';
import type Stripe from 'stripe';
import { BillingEvents } from '../../src/billing/billing-events.ts';
import { limits } from '../../src/core/limits.ts';
import { BillingRecords } from '../../src/storage/billing.ts';
import { emptyBillingAccount } from '../../src/storage/billing-account.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import t from '../support/tap.ts';

/** Organizations affected by events, and the reads that events trigger. */

const idOf = (count: number) => `00000000-0000-4000-8000-${String(count).padStart(12, '0')}`;
interface ListedEvent {
  readonly type: string;
  readonly object: object;
  readonly before?: object;
}

/** Event processing over a store and a fake Stripe that lists `listedEvents` and fails for some organizations. */
async function start(
  listedEvents: readonly ListedEvent[] = [],
  isDown: (organizationId: string) => boolean = () => false,
) {
  const store = new MemoryStore();
  const records = new BillingRecords(store);
  const time = { ms: 1_000_000 };
  const read: string[] = [];
  const list = async function* () {
    for (const [id, { type, object, before }] of listedEvents.entries())
      yield { id: `evt_${id}`, type, created: 1_000, data: { object, previous_attributes: before } };
  };
  const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const events = new BillingEvents({
    store,
    records,
    webhookSecret: null,
    stripe: { events: { list } } as unknown as Stripe,
    clock: { now: () => time.ms, monotonic: () => time.ms },
    random: { uuid: () => 'one' } as never,
    logger: logger as never,
    sync: {
      read: async (organizationId: string) => {
        read.push(organizationId);
        if (isDown(organizationId)) throw new Error('no answer');
        const reason = records.getPendingSync(organizationId);
        if (reason !== undefined) await store.write(records.completePendingSync(organizationId, reason));
      },
    } as never,
  });
  /** Organizations read since the last call, after all started reads have ended. */
  const readOrganizations = async (): Promise<string[]> => {
    for (let before = -1; before < read.length; ) {
      before = read.length;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return read.splice(0);
  };
  return { store, records, events, time, readOrganizations };
}

t.test('the event of a detached payment method is attributed to its former customer', async (t) => {
  const card = { id: 'pm_1', object: 'payment_method' };
  const listedEvents: ListedEvent[] = [
    { type: 'payment_method.detached', object: { ...card, customer: null }, before: { customer: 'cus_1' } },
    {
      type: 'payment_method.detached',
      object: { ...card, customer: null },
      before: { customer: 'cus_other' },
    },
  ];
  const { store, records, events, readOrganizations } = await start(listedEvents);
  await store.write(records.putAccount(idOf(1), { ...emptyBillingAccount, customerId: 'cus_1' }));
  await catchUpThen(events, async () => undefined);
  t.strictSame(await readOrganizations(), [idOf(1)]);
});

/** Catches up while timers stand still, runs `meanwhile`, and lets the delay of reads pass. */
async function catchUpThen(events: BillingEvents, meanwhile: () => Promise<void>): Promise<void> {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    await events.catchUp(new AbortController().signal);
    await meanwhile();
    mock.timers.tick(limits.billingReadMs);
  } finally {
    mock.timers.reset();
  }
}

t.test(
  'events of the same second cause one read, and none if a request read the customer before',
  async (t) => {
    const ofCustomer = (customer: string) => ({
      type: 'invoice.paid',
      object: { object: 'invoice', customer },
    });
    const listedEvents = ['cus_1', 'cus_2', 'cus_1', 'cus_3', 'cus_1', 'cus_2'].map(ofCustomer);
    const { store, records, events, readOrganizations } = await start(listedEvents);
    for (const number of [1, 2, 3]) {
      const account = { ...emptyBillingAccount, customerId: `cus_${number}` };
      await store.write(records.putAccount(idOf(number), account));
    }
    await catchUpThen(events, async () => {
      const reason = records.getPendingSync(idOf(2));
      if (reason === undefined) throw new Error('the organization is not due');
      await store.write(records.completePendingSync(idOf(2), reason));
    });
    t.strictSame(await readOrganizations(), [idOf(1), idOf(3)]);
  },
);

t.test('a read that waits for more events is left to the next start', async (t) => {
  const listedEvents = [{ type: 'invoice.paid', object: { object: 'invoice', customer: 'cus_1' } }];
  const { store, records, events, readOrganizations } = await start(listedEvents);
  await store.write(records.putAccount(idOf(1), { ...emptyBillingAccount, customerId: 'cus_1' }));
  await catchUpThen(events, () => events.close());
  t.strictSame(await readOrganizations(), []);
  t.not(records.getPendingSync(idOf(1)), undefined, 'the organization is still due');
});

t.test('organizations whose Stripe reads fail back off and block no others', async (t) => {
  const most = limits.billingDueBatchMax;
  const last = idOf(most + 1);
  const { store, records, events, time, readOrganizations } = await start([], (id) => id !== last);
  const due = Array.from({ length: most + 1 }, (_, i) =>
    records.putPendingSync(idOf(i + 1), 'something happened'),
  );
  await store.write(due);
  const turn = async (ms: number) => {
    time.ms += ms;
    await events.readPending();
    return readOrganizations();
  };
  const first = await turn(0);
  t.equal(first.length, most);
  t.notOk(first.includes(last));
  t.strictSame(await turn(1), [last], 'the others are read although the first cannot be');
  t.strictSame(await turn(1), [], 'a delayed organization is not read');
  t.equal((await turn(limits.billingRetryMs)).length, most);
  t.strictSame(await turn(limits.billingRetryMs), [], 'the second time longer');
  t.equal((await turn(limits.billingRetryMs)).length, most);
  for (let i = 0; i < 10; i += 1) await turn(limits.billingRetryMsMax);
  t.equal((await turn(limits.billingRetryMsMax)).length, most, 'and never longer than that');
});
