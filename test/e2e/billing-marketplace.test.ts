import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { fileMsMax } from '../waiting.ts';
import { BillingWorld, type Owner } from './billing-world.ts';
import { freePort } from './free-port.ts';
import { send } from './people.ts';

/** Organisations that pay here and at a marketplace, Vercel's look-alike: the higher tier counts, and nobody pays twice. */

t.setTimeout(fileMsMax);

const secret = 'a-secret-that-vercel-knows';
const vercel = createServer((request, response) => {
  let text = '';
  request.on('data', (part) => (text += part));
  request.on('end', () => {
    const installation_id = new URLSearchParams(text).get('code');
    const token = { access_token: 'a-token', token_type: 'Bearer', team_id: 'team_1', user_id: 'user_1' };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ ...token, installation_id }));
  });
}).listen(0, '127.0.0.1');
await once(vercel, 'listening');
t.teardown(() => vercel.close());

const port = await freePort();
const world = await BillingWorld.start(t, '2027-03-10T12:00:00Z', {
  PORT: String(port),
  BASE_URL: `http://127.0.0.1:${port}`,
  VERCEL_CLIENT_ID: 'oac_1',
  VERCEL_CLIENT_SECRET: secret,
  VERCEL_API_URL: `http://127.0.0.1:${(vercel.address() as AddressInfo).port}`,
  VERCEL_TIER: 'teams',
});

/** Buys `teams` there; the code of the look-alike is the id of what is installed. */
async function buy(owner: Owner, code: string): Promise<number> {
  const next = 'https://vercel.com/acme';
  const query = new URLSearchParams({ code, next });
  const came = await send(`${world.server.url}/api/marketplaces/vercel?${query}`, { method: 'GET' });
  const sign_up = /\?sign_up=([\w-]{43})$/.exec(came.headers.get('location') ?? '')?.[1] ?? '';
  const cookie = came.headers.get('set-cookie')?.split(';')[0] ?? '';
  const bound = await send(`${world.server.url}/api/marketplaces/bind`, {
    body: { sign_up, organization_id: owner.organizationId },
    headers: { authorization: `Bearer ${owner.person.token}`, cookie },
  });
  return bound.status;
}

async function end(id: string): Promise<number> {
  const body = JSON.stringify({
    type: 'integration-configuration.removed',
    payload: { configuration: { id }, team: { id: 'team_1' } },
  });
  const signature = createHmac('sha1', secret).update(body).digest('hex');
  const headers = { 'content-type': 'application/json', 'x-vercel-signature': signature };
  return (await send(`${world.server.url}/api/marketplaces/vercel/events`, { body, headers })).status;
}

t.test('the higher of both tiers counts, while it lasts', async (t) => {
  const owner = await world.owner();
  await owner.call('subscribe', { tier: 'starter', payment_method_id: await owner.card() });
  t.equal(await buy(owner, 'icfg_1'), 200);
  await world.moment();
  t.match(
    await owner.status(),
    { subscription_tier: 'teams', status: 'active' },
    'after Stripe was read too',
  );
  t.equal(await end('icfg_1'), 200);
  t.match(await owner.status(), { subscription_tier: 'starter' }, 'what is paid for here stays');
});

t.test('who pays at a marketplace is not charged here', async (t) => {
  const owner = await world.owner();
  t.equal(await buy(owner, 'icfg_2'), 200);
  const wanted = { tier: 'starter', payment_method_id: await owner.card() };
  t.match(await owner.ask('subscribe', wanted), { status: 409, body: { detail: /through a marketplace/ } });
  t.same(owner.invoices(), []);
  t.equal(await end('icfg_2'), 200);
  t.match(await owner.status(), { subscription_tier: 'free' });
  t.match(await owner.call('subscribe', wanted), { status: 'active', subscription_tier: 'starter' });
});
