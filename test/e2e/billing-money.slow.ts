import t from 'tap';
import { seeded } from '../store/seeded.ts';
import { eventually } from './api.ts';
import { BillingWorld } from './billing-world.ts';
import { Payers } from './payers.ts';
import { send } from './people.ts';

const chance = seeded();

t.setTimeout(1_800_000);
t.test(
  `a minute and a half of people, faults and time leaves the money that the rules say (seed ${chance.seed})`,
  async (t) => {
    const world = await BillingWorld.start(t, '2027-01-29T09:12:34Z');
    const payers = new Payers(t, chance, world);
    await payers.run(Number.POSITIVE_INFINITY, 90_000);
    for (const [what, count] of Object.entries(payers.seen)) t.ok(count > 0, `${what}: ${count} times`);
    world.checkUnderstood(t);
  },
);

t.test(
  'what is embedded and reranked is reported to Stripe once, also over a crash, and invoiced',
  async (t) => {
    const world = await BillingWorld.start(t, '2027-03-10T12:00:20Z');
    const { emulator, server } = world;
    const owner = await world.owner();
    await owner.call('subscribe', { tier: 'starter', payment_method_id: await owner.card() });
    const { organizationId: organization_id, person } = owner;
    const key = await person.call('organizations/api-keys/add-api-key', {
      organization_id,
      name: 'k',
      permission: 'all',
    });
    const headers = { authorization: `Bearer ${key.body.api_key}` };
    let tokens = 0;
    const use = async () => {
      const input = Array.from({ length: 50 }, (_, i) => `a sentence about invoices, number ${i}`);
      const body = { model: 'zembed-1', input_type: 'document', input };
      const answer = await send(`${server.url}/v1/models/embed`, { headers, body });
      if (answer.status !== 200) throw new Error(`embed: ${answer.status} ${answer.text}`);
      tokens += answer.body.usage.total_tokens;
    };
    const told = () =>
      emulator.world
        .all('billing.meter_event')
        .filter(({ event_name: name }) => name === 'quarry_embed_tokens')
        .reduce((sum, event) => sum + Number(event.payload.value), 0);
    const hears = async (what: string) => {
      await world.travel(emulator.now + 180);
      await eventually(what, async () => (told() >= tokens ? true : null), 60_000);
      t.equal(told(), tokens, what);
    };

    for (let i = 0; i < 5; i += 1) await use();
    t.ok(tokens > 1_000, `${tokens} tokens`);
    await hears('Stripe hears of it');

    await use();
    emulator.faults.add({ kind: 'silence-after', operation: /MeterEvents/ });
    await world.travel(emulator.now + 180);
    await eventually('Stripe hears of more', async () => (told() === tokens ? true : null), 60_000);
    await server.stop('SIGKILL');
    emulator.faults.clear();
    await world.restart();
    await use();
    await hears('Stripe hears of it once although the server was killed while it told it');

    await world.travel('2027-04-01T02:00:00Z');
    const lines = owner.invoices().at(-1)!.lines.data as {
      quantity: number | null;
      pricing: { price_details: object };
    }[];
    t.ok(
      lines.some(({ quantity }) => quantity === tokens),
      `the invoice says ${tokens} tokens`,
    );
    await use();
    await world.moment();
    await owner.call('pause');
    t.equal(told(), tokens, 'a pause tells what was used a moment before');
    world.checkUnderstood(t);
  },
);
