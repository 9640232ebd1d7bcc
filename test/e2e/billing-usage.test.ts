import t from 'tap';
import { fileMsMax } from '../waiting.ts';
import { eventually } from './api.ts';
import { BillingWorld, type Owner } from './billing-world.ts';
import { send } from './people.ts';

/** What is embedded while a subscription serves reaches the meter of Stripe to the token, across pauses and kills. */

const world = await BillingWorld.start(t, '2027-05-12T10:00:20Z');
const { emulator, server } = world;
t.setTimeout(fileMsMax);
const starter = { tier: 'starter' };
const keys = new Map<Owner, string>();

async function embed(owner: Owner): Promise<number> {
  const answer = await send(`${server.url}/v1/models/embed`, {
    headers: { authorization: `Bearer ${keys.get(owner)}` },
    body: { model: 'zembed-1', input_type: 'document', input: ['a sentence about invoices and usage'] },
  });
  if (answer.status !== 200) throw new Error(`embed answered ${answer.status}: ${answer.text}`);
  return answer.body.usage.total_tokens;
}

/** An owner on the tier starter with a key; `tokens` were used before that on the tier free, of no charge. */
async function subscribed(): Promise<Owner> {
  const owner = await world.owner();
  const wanted = { organization_id: owner.organizationId, name: 'embeds', permission: 'all' };
  keys.set(owner, (await owner.person.call('organizations/api-keys/add-api-key', wanted)).body.api_key);
  await embed(owner);
  await owner.call('subscribe', { ...starter, payment_method_id: await owner.card() });
  return owner;
}

const metered = (owner: Owner): number =>
  emulator.world
    .all('billing.meter_event')
    .filter(({ payload }) => payload.stripe_customer_id === owner.customer())
    .reduce((sum, { payload }) => sum + Number(payload.value), 0);

/** A few seconds later, in the same minute unless the machine is slow. */
const soon = () => world.moment(3);

t.test('tokens used before and after a pause in one minute are all metered', async (t) => {
  const owner = await subscribed();
  let used = await embed(owner);
  await soon();
  await owner.call('pause');
  await soon();
  await owner.call('subscribe', starter);
  for (let i = 0; i < 3; i += 1) used += await embed(owner);
  await world.moment(60);
  used += await embed(owner);
  await owner.call('pause');
  t.equal(metered(owner), used);
});

t.test('five pauses in one minute, with use in between and during each, lose and add nothing', async (t) => {
  await world.moment(61 - (emulator.now % 60));
  const owner = await subscribed();
  let used = 0;
  for (let turn = 0; turn < 5; turn += 1) {
    used += await embed(owner);
    await soon();
    await owner.call('pause');
    t.equal(metered(owner), used, 'a pause meters everything until then');
    await embed(owner);
    await soon();
    t.match(await owner.call('subscribe', starter), { status: 'resumed' });
  }
  used += await embed(owner);
  await owner.call('pause');
  t.equal(metered(owner), used, 'what was used while paused is not charged');
});

t.test('a kill after any step of a pause and of a resumption loses and doubles no token', async (t) => {
  await world.moment(61 - (emulator.now % 60));
  const owner = await subscribed();
  let used = await embed(owner);
  const killed = async (operation: RegExp, ask: () => Promise<unknown>) => {
    emulator.faults.add({ kind: 'silence-after', operation });
    const asked = ask().catch(() => null);
    await eventually(
      `${operation} cut off`,
      async () => (emulator.faults.befell({ operation }) ? true : null),
      120_000,
    );
    await server.stop('SIGKILL');
    await asked;
    emulator.faults.clear();
    await world.restart();
    await owner.status();
  };
  await soon();
  await killed(/MeterEvents/, () => owner.ask('pause'));
  used += await embed(owner);
  await soon();
  await killed(/^Subscriptions\.pause$/, () => owner.ask('pause'));
  t.match(await owner.status(), { status: 'paused' });
  await embed(owner);
  await soon();
  await killed(/^Subscriptions\.resume$/, () => owner.ask('subscribe', starter));
  t.match(await owner.status(), { status: 'active' });
  used += await embed(owner);
  await soon();
  await owner.call('pause');
  await soon();
  await owner.call('subscribe', starter);
  used += await embed(owner);
  await owner.call('pause');
  t.equal(metered(owner), used);
});

t.test('an event that was cut off is not sent twice after Stripe has forgotten its identifier', async (t) => {
  const [taken, lost] = [await subscribed(), await subscribed()];
  const used = [await embed(taken), await embed(lost)] as const;
  await world.moment();
  const [operation, times] = [/MeterEvents/, 20];
  emulator.faults.add({ kind: 'lost-after', operation, text: taken.customer()!, times });
  emulator.faults.add({ kind: 'lost-before', operation, text: lost.customer()!, times });
  await Promise.all([taken.ask('pause'), lost.ask('pause')]);
  t.strictSame([metered(taken), metered(lost)], [used[0], 0]);
  await server.stop('SIGKILL');
  emulator.faults.clear();
  emulator.moveTo(emulator.now + 26 * 3_600);
  await world.restart();
  for (const owner of [taken, lost]) await owner.call('pause');
  t.strictSame([metered(taken), metered(lost)], used);
});

t.test('Stripe understood every request', async (t) => world.checkUnderstood(t));
