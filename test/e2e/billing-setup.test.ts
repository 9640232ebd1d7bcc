import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runQuarry } from '../cli/quarry.ts';
import { StripeEmulator } from '../support/stripe-emulator/emulator.ts';
import { subscribedEvents } from '../support/stripe-emulator/subscribed-events.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';

/** `quarry billing setup` and `quarry billing check`, against an empty account. */

t.setTimeout(testFileMsMax);

const emulator = await StripeEmulator.start();
const folder = mkdtempSync(join(tmpdir(), 'quarry-billing-setup-'));
t.teardown(async () => {
  await emulator.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs the command in this process; `billing-stripe-variants.test.ts` runs it in one of its own. */
async function runBilling(
  word: 'setup' | 'check',
  variables: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number | null; readonly out: string; readonly note: string }> {
  const settings = {
    QUARRY_STRIPE_API_BASE: emulator.url,
    QUARRY_STRIPE_SECRET_KEY: emulator.secretKey,
    QUARRY_BASE_URL: 'https://quarry.example.com',
    ...variables,
  };
  const { code, out, err } = await runQuarry(['billing', word], { variables: settings });
  return { code, out, note: err };
}

const createCalls = () => emulator.requests.filter(({ operation }) => operation.endsWith('.create')).length;

await t.test(
  'check lists what an empty account lacks, setup creates it, and a second setup creates nothing',
  async (t) => {
    const before = await runBilling('check');
    t.equal(before.code, 1, 'check fails if anything differs');
    t.match(before.out, /^product quarry_starter: is missing\n/);
    t.match(before.out, /\nwebhook https:\/\/quarry\.example\.com\/api\/billing\/webhook: is missing\n/);
    t.equal(createCalls(), 0, 'check creates nothing');
    const first = await runBilling('setup');
    t.equal(first.code, 0, first.note);
    t.match(first.out, /^product quarry_starter: created\nprice quarry_starter_monthly: created\n/);
    t.match(
      first.out,
      /\n {2}QUARRY_STRIPE_WEBHOOK_SECRET=whsec_\S+\n/,
      'the webhook secret is printed once',
    );
    const [endpoint] = emulator.state.listObjects('webhook_endpoint');
    t.same(
      endpoint!.enabled_events,
      subscribedEvents,
      'the events that other tests deliver are subscribed to',
    );
    // More configurations may have been created since than fit on one page of a list.
    const [portal] = emulator.state.listObjects('billing_portal.configuration');
    for (let others = 0; others < 100; others += 1)
      emulator.state.add({ ...portal!, id: emulator.state.nextId('bpc'), metadata: {} });
    const count = createCalls();
    const second = await runBilling('setup');
    t.equal(second.code, 0);
    t.notMatch(second.out, /created|updated|whsec_/);
    t.equal(createCalls(), count, 'nothing is created twice');
    t.equal((await runBilling('check')).code, 0);
    t.same(emulator.invalidRequests, []);
  },
);

await t.test(
  'manually deleted resources are created again, although Stripe has their idempotency keys',
  async (t) => {
    const { state } = emulator;
    const names = [...state.listObjects('webhook_endpoint'), ...state.listObjects('billing.meter')].map(
      ({ id }) => id,
    );
    for (const id of [...names, 'quarry_starter']) state.remove(id);
    const again = await runBilling('setup');
    t.equal(again.code, 0, again.note);
    t.match(again.out, /^product quarry_starter: created\n/);
    const [endpoint, ...others] = state.listObjects('webhook_endpoint');
    t.strictSame(others, []);
    t.match(
      again.out,
      `\n  QUARRY_STRIPE_WEBHOOK_SECRET=${endpoint!.secret}\n`,
      'the new webhook has its own secret',
    );
    t.equal((await runBilling('check')).code, 0);
  },
);

await t.test('manually changed resources are corrected every time', async (t) => {
  const { state } = emulator;
  for (const name of ['Ours', 'Ours', 'Mine']) {
    state.get('product', 'quarry_teams').name = name;
    state.listObjects('webhook_endpoint')[0]!.enabled_events = ['invoice.paid'];
    const again = await runBilling('setup');
    t.match(again.out, /^product quarry_teams: updated\n/m, again.note);
    t.match(again.out, /^webhook \S+: updated; its secret is unchanged\n/m);
    t.equal((await runBilling('check')).code, 0);
  }
});

await t.test('a new price replaces a changed one, and the output names the plans', async (t) => {
  const price = (lookupKey: string, amount: number) => ({ price: { lookupKey, amount, product: 'Quarry' } });
  const plans = {
    currency: 'usd',
    tiers: {
      starter: price('quarry_starter_monthly', 6_000),
      teams: price('quarry_teams_monthly', 20_000),
    },
  };
  const path = join(folder, 'plans.json');
  writeFileSync(path, JSON.stringify(plans));
  const differs = await runBilling('check', { QUARRY_PLANS_FILE: path });
  t.equal(differs.code, 1);
  t.match(differs.out, /price quarry_starter_monthly: is 5000 usd, not 6000 usd\n/);
  const changed = await runBilling('setup', { QUARRY_PLANS_FILE: path });
  t.match(
    changed.out,
    /price quarry_starter_monthly: created again; existing subscribers keep the earlier price\n/,
  );
  t.equal((await runBilling('check', { QUARRY_PLANS_FILE: path })).code, 0);
});

await t.test('an interrupted setup repeats nothing', (t) => {
  const changes = emulator.requests.filter(({ operation }) => !/\.(list|retrieve)$/.test(operation));
  const kinds = new Set(changes.map(({ operation }) => operation));
  for (const kind of ['Products.update', 'Prices.update', 'WebhookEndpoints.update'])
    t.ok(kinds.has(kind), `${[...kinds]}`);
  const own = ({ key }: { readonly key: string | null }) => key?.startsWith('quarry:') === true;
  t.strictSame(
    changes.filter((change) => !own(change)),
    [],
    'each has a descriptive idempotency key',
  );
  t.end();
});

await t.test('problems are reported in plain text', async (t) => {
  t.match(await runBilling('setup', { QUARRY_STRIPE_SECRET_KEY: '' }), {
    code: 2,
    note: /QUARRY_STRIPE_SECRET_KEY is not set/,
  });
  t.match(await runBilling('check', { QUARRY_STRIPE_SECRET_KEY: 'sk_test_of_somebody' }), {
    code: 1,
    note: /product quarry_starter: error from Stripe: Invalid API Key/,
  });
  const path = join(folder, 'wrong.json');
  writeFileSync(path, '{"currency": "usd"}');
  t.match(await runBilling('check', { QUARRY_PLANS_FILE: path }), {
    code: 2,
    note: /tiers is missing; expected an object/,
  });
  t.match(await runBilling('check', { QUARRY_STRIPE_API_BASE: 'http://127.0.0.1:1' }), {
    code: 3,
    note: /error from Stripe: /,
  });
});
