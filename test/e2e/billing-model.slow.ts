import { createTestRandom } from '../storage/test-random.ts';
import t from '../support/tap.ts';
import { BillingFixture } from './billing-fixture.ts';
import { waitFor } from './checked-api-client.ts';
import { sendRequest } from './people.ts';
import { RandomCustomers } from './random-customers.ts';

const random = createTestRandom();

t.setTimeout(1_800_000);
t.test(
  `60 seconds of random actions, faults and time result in the expected charges (seed ${random.seed})`,
  async (t) => {
    const fixture = await BillingFixture.start(t, '2027-01-29T09:12:34Z');
    const customers = new RandomCustomers(t, random, fixture);
    await customers.run(Number.POSITIVE_INFINITY, 60_000);
    for (const [what, count] of Object.entries(customers.actionCounts))
      t.ok(count > 0, `${what}: ${count} times`);
    fixture.checkNoInvalidRequests(t);
  },
);

t.test(
  'embedding and reranking usage is reported to Stripe once, also across a crash, and invoiced',
  async (t) => {
    const fixture = await BillingFixture.start(t, '2027-03-10T12:00:20Z');
    const { emulator, server } = fixture;
    const owner = await fixture.createOwner();
    await owner.call('subscribe', { tier: 'starter', payment_method_id: await owner.createCard() });
    const { organizationId: organization_id, user } = owner;
    const key = await user.call('organizations/api-keys/add-api-key', {
      organization_id,
      name: 'k',
      permission: 'all',
    });
    const headers = { authorization: `Bearer ${key.body.api_key}` };
    let tokens = 0;
    const use = async () => {
      const input = Array.from({ length: 50 }, (_, i) => `a sentence about invoices, number ${i}`);
      const body = { model: 'zembed-1', input_type: 'document', input };
      const answer = await sendRequest(`${server.url}/v1/models/embed`, { headers, body });
      if (answer.status !== 200) throw new Error(`embed: ${answer.status} ${answer.text}`);
      tokens += answer.body.usage.total_tokens;
    };
    const reportedUsage = () =>
      emulator.state
        .listObjects('billing.meter_event')
        .filter(({ event_name: name }) => name === 'quarry_embed_tokens')
        .reduce((sum, event) => sum + Number(event.payload.value), 0);
    const meterEvents = async (what: string) => {
      await fixture.advanceTo(emulator.now + 180);
      await waitFor(what, async () => (reportedUsage() >= tokens ? true : null), 60_000);
      t.equal(reportedUsage(), tokens, what);
    };

    for (let i = 0; i < 5; i += 1) await use();
    t.ok(tokens > 1_000, `${tokens} tokens`);
    await meterEvents('the usage report to Stripe');

    await use();
    emulator.faults.add({ kind: 'no-reply-after', operation: /MeterEvents/ });
    await fixture.advanceTo(emulator.now + 180);
    await waitFor(
      'the second usage report to Stripe',
      async () => (reportedUsage() === tokens ? true : null),
      60_000,
    );
    await server.stop('SIGKILL');
    emulator.faults.clear();
    await fixture.restart();
    await use();
    await meterEvents('the single usage report after the server was killed during it');

    await fixture.advanceTo('2027-04-01T02:00:00Z');
    const lines = owner.invoices().at(-1)!.lines.data as {
      quantity: number | null;
      pricing: { price_details: object };
    }[];
    t.ok(
      lines.some(({ quantity }) => quantity === tokens),
      `the invoice has ${tokens} tokens`,
    );
    await use();
    await fixture.advanceBriefly();
    await owner.call('pause');
    t.equal(reportedUsage(), tokens, 'a pause reports recent usage');
    fixture.checkNoInvalidRequests(t);
  },
);
