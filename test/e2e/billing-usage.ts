import t from '../support/tap.ts';
import type { OrganizationOwner } from './billing-fixture.ts';
import { fixture, type InterruptedScenario } from './billing-restart-server.ts';
import { sendRequest } from './people.ts';

/** Tokens embedded during a subscription reach Stripe's meter exactly, across pauses and kills. */

const { emulator, server } = fixture;
const starter = { tier: 'starter' };
const keys = new Map<OrganizationOwner, string>();

async function embedTokens(owner: OrganizationOwner): Promise<number> {
  const answer = await sendRequest(`${server.url}/v1/models/embed`, {
    headers: { authorization: `Bearer ${keys.get(owner)}` },
    body: { model: 'zembed-1', input_type: 'document', input: ['a sentence about invoices and usage'] },
  });
  if (answer.status !== 200) throw new Error(`embed answered ${answer.status}: ${answer.text}`);
  return answer.body.usage.total_tokens;
}

/** Owner on the starter tier with an API key; one call was made before that on the free tier, without charge. */
async function subscribedOwner(): Promise<OrganizationOwner> {
  const owner = await fixture.createOwner();
  const keyRequest = { organization_id: owner.organizationId, name: 'embeds', permission: 'all' };
  keys.set(owner, (await owner.user.call('organizations/api-keys/add-api-key', keyRequest)).body.api_key);
  await embedTokens(owner);
  await owner.call('subscribe', { ...starter, payment_method_id: await owner.createCard() });
  return owner;
}

const metered = (owner: OrganizationOwner): number =>
  emulator.state
    .listObjects('billing.meter_event')
    .filter(({ payload }) => payload.stripe_customer_id === owner.customer())
    .reduce((sum, { payload }) => sum + Number(payload.value), 0);

/** Advances a few seconds, within the same minute unless the machine is slow. */
const soon = () => fixture.advanceBriefly(3);

t.test('tokens used before and after a pause in one minute are all metered', async (t) => {
  await fixture.advanceBriefly(61 - (emulator.now % 60));
  const owner = await subscribedOwner();
  let used = await embedTokens(owner);
  await soon();
  await owner.call('pause');
  await soon();
  await owner.call('subscribe', starter);
  for (let i = 0; i < 3; i += 1) used += await embedTokens(owner);
  await fixture.advanceBriefly(60);
  used += await embedTokens(owner);
  await owner.call('pause');
  t.equal(metered(owner), used);
});

t.test(
  'five pauses in one minute, with usage between and during them, neither lose nor add tokens',
  async (t) => {
    await fixture.advanceBriefly(61 - (emulator.now % 60));
    const owner = await subscribedOwner();
    let used = 0;
    for (let turn = 0; turn < 5; turn += 1) {
      used += await embedTokens(owner);
      await soon();
      await owner.call('pause');
      t.equal(metered(owner), used, 'a pause meters everything until then');
      await embedTokens(owner);
      await soon();
      t.match(await owner.call('subscribe', starter), { status: 'resumed' });
    }
    used += await embedTokens(owner);
    await owner.call('pause');
    t.equal(metered(owner), used, 'usage while paused is not charged');
  },
);

/** One organization whose pause is cut while its usage is metered, one later in a pause and one in a resume. */
export async function interruptMetering(): Promise<InterruptedScenario> {
  await fixture.advanceBriefly(61 - (emulator.now % 60));
  const [metering, pausing, resuming] = [
    await subscribedOwner(),
    await subscribedOwner(),
    await subscribedOwner(),
  ];
  const used = new Map<OrganizationOwner, number>();
  const use = async (owner: OrganizationOwner) => {
    used.set(owner, (used.get(owner) ?? 0) + (await embedTokens(owner)));
  };
  for (const owner of [metering, pausing, resuming]) await use(owner);
  await soon();
  await resuming.call('pause');
  await embedTokens(resuming);
  await soon();
  const subscription = (owner: OrganizationOwner) => owner.subscription()!.id;
  const kind = 'no-reply-after';
  return {
    interrupted: [
      {
        owner: metering,
        kind,
        operation: /MeterEvents/,
        text: metering.customer()!,
        call: () => metering.request('pause'),
      },
      {
        owner: pausing,
        kind,
        operation: /^Subscriptions\.pause$/,
        text: subscription(pausing),
        call: () => pausing.request('pause'),
      },
      {
        owner: resuming,
        kind,
        operation: /^Subscriptions\.resume$/,
        text: subscription(resuming),
        call: () => resuming.request('subscribe', starter),
      },
    ],
    check: async (t) => {
      t.match(await metering.status(), { status: 'active' });
      t.match(await pausing.status(), { status: 'paused' });
      t.match(await resuming.status(), { status: 'active' });
      for (const owner of [metering, resuming]) await use(owner);
      await embedTokens(pausing);
      await soon();
      for (const owner of [metering, resuming]) await owner.call('pause');
      await soon();
      for (const owner of [metering, pausing, resuming]) {
        await owner.call('subscribe', starter);
        await use(owner);
        await owner.call('pause');
        t.equal(metered(owner), used.get(owner));
      }
    },
  };
}

/** Meter events that Stripe accepted or lost, without a reply, for two organizations; to be checked after a kill. */
export async function interruptMeterEvents() {
  const [acceptedOwner, lostOwner] = [await subscribedOwner(), await subscribedOwner()];
  const used = [await embedTokens(acceptedOwner), await embedTokens(lostOwner)] as const;
  await fixture.advanceBriefly();
  const [operation, times] = [/MeterEvents/, 20];
  emulator.faults.add({ kind: 'lost-after', operation, text: acceptedOwner.customer()!, times });
  emulator.faults.add({ kind: 'lost-before', operation, text: lostOwner.customer()!, times });
  await Promise.all([acceptedOwner.request('pause'), lostOwner.request('pause')]);
  const meteredOfBoth = () => [metered(acceptedOwner), metered(lostOwner)];
  const pauseBoth = async () => {
    for (const owner of [acceptedOwner, lostOwner]) await owner.call('pause');
  };
  return { meteredOfBoth, meteredBefore: [used[0], 0], used, pauseBoth };
}
