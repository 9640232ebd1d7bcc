import { createHmac } from 'node:crypto';
import t from '../support/tap.ts';
import { signUpParametersOf, vercelSecret } from './marketplace-fixture.ts';
import { marketplaces } from './marketplace-server.ts';
import { type HttpReply, sendRequest } from './people.ts';

/** Installations of the integration in Vercel, which is emulated. */

const { vercel, server, call, tierOf, bindSignUp, acme, other } = marketplaces;
const { exchanges, projects } = vercel;

/** From an address of its own: sign-ups per address are limited, and the tests of AWS need many, too. */
const install = (query: Record<string, string>) =>
  sendRequest(`${server.url}/api/marketplaces/vercel?${new URLSearchParams(query)}`, {
    method: 'GET',
    headers: { 'x-forwarded-for': '10.9.8.6' },
  });

const next = 'https://vercel.com/acme/~/integrations/quarry?x=1';

const boundByVercel = { marketplace: 'vercel', bought_tier: 'starter', subscription_tier: 'starter', next };

/** Sends an event as Vercel does, by default with its signature; returns the status of the reply. */
async function sendVercelEvent(body: string, signature: string | null = signatureOf(body)): Promise<number> {
  const answer = await sendRequest(`${server.url}/api/marketplaces/vercel/events`, {
    body,
    headers: {
      'content-type': 'application/json',
      ...(signature === null ? {} : { 'x-vercel-signature': signature }),
    },
  });
  return answer.status;
}

function signatureOf(body: string, key = vercelSecret): string {
  return createHmac('sha1', key).update(body).digest('hex');
}

const installationRemoved = JSON.stringify({
  type: 'integration-configuration.removed',
  payload: { configuration: { id: 'icfg_1' }, team: { id: 'team_1' } },
});

const scopeChanged = installationRemoved.replace('.removed', '.scope-change-confirmed');

/** API keys that the Vercel integration of the organization created. */
async function vercelKeys(): Promise<readonly { readonly id: string }[]> {
  const { api_keys } = (await call('organizations/get-info', { organization_id: other })).body;
  return api_keys.filter(({ created_by }: { created_by: string }) => created_by === 'vercel:icfg_1');
}

t.test('an installation from Vercel with an unknown return address or an invalid code fails', async (t) => {
  for (const evil of [
    'https://evil.example/',
    'http://vercel.com/',
    '//vercel.com/',
    'https://vercel.com.evil.example/',
    'https://evil.example/vercel.com',
    'https://vercel.com@evil.example/',
    'https://user@vercel.com/',
    'https://vercel.com:8443/',
    'https:\\\\vercel.com/',
    'https://vercel.com\\@evil.example/',
    'https://vercel.com/\n',
    'https://api.vercel.com/',
    'javascript:alert(1)',
    '/docs',
    '',
  ])
    t.equal((await install({ code: 'good', next: evil })).status, 400, evil);
  t.same(exchanges, [], 'a rejected return address does not use the code');
  t.equal((await install({ next })).status, 422);
  t.equal((await install({ code: 'good' })).status, 422);
  t.equal((await install({ code: 'used', next })).status, 400);
  t.equal((await install({ code: 'down', next })).status, 502);
  t.equal((await install({ code: 'odd', next })).status, 502);
});

/** Sign-up of the installation that the following tests bind and remove. */
let vercelSignUp: HttpReply;

t.test('a Vercel installation is bound to one organization, by default without variables', async (t) => {
  vercelSignUp = await install({
    code: 'good',
    next,
    teamId: 'team_1',
    configurationId: 'icfg_1',
    source: 'marketplace',
  });
  t.equal(vercelSignUp.status, 302);
  t.same(exchanges.at(-1), {
    path: 'POST /v2/oauth/access_token',
    form: {
      client_id: 'oac_1',
      client_secret: vercelSecret,
      code: 'good',
      redirect_uri: `${server.url}/api/marketplaces/vercel`,
    },
  });
  const { sign_up, cookie } = signUpParametersOf(vercelSignUp);
  t.match(
    await call('marketplaces/get-sign-up', { sign_up }, { cookie }),
    {
      status: 200,
      body: { marketplace: 'vercel', account: 'the-team', account_id: 'team_1', installation_id: 'icfg_1' },
    },
    'the user sees the account of the installation',
  );
  const binding = { sign_up, organization_id: other, set_variables: false };
  t.match(await call('marketplaces/bind', binding, { cookie }), {
    status: 200,
    body: { ...boundByVercel, variables: null },
  });
  t.equal(await tierOf(other), 'starter');
  t.equal(vercel.requestCount('/v10/projects'), 0, 'no variables are set unless requested');
  t.match(await bindSignUp(await install({ code: 'good', next }), acme), { status: 409 });
  t.same(projects.prj_1, {});
});

t.test('variables with one API key are set in all projects of the installation', async (t) => {
  const bind = () => bindSignUp(vercelSignUp, other);
  vercel.variablesReply = { status: 503, body: {} };
  t.match(await bind(), { status: 200, body: { ...boundByVercel, variables: 'waiting' } });
  vercel.variablesReply = { status: 403, body: {} };
  t.match(await bind(), { status: 200, body: { ...boundByVercel, variables: 'refused' } });
  vercel.variablesReply = {
    status: 201,
    body: { created: [], failed: [{ error: { code: 'ENV_CONFLICT' } }] },
  };
  t.match(await bind(), { status: 200, body: { variables: 'refused' } });
  t.match(await vercelKeys(), [{ permission: 'all', name: 'Vercel' }], 'repeated attempts create one key');
  vercel.variablesReply = { status: 201, body: { created: [], failed: [] } };
  t.match(await bind(), { status: 200, body: { ...boundByVercel, variables: 'set' } });
  const { ZEROENTROPY_API_KEY: key, ZEROENTROPY_BASE_URL: base } = projects.prj_3!;
  t.equal(base, `${server.url}/v1`);
  const list = await sendRequest(`${base}/collections/get-collection-list`, {
    headers: { authorization: `Bearer ${key}` },
    body: {},
  });
  t.equal(list.status, 200, 'the key in the projects is valid for the organization');
  for (const id of ['prj_1', 'prj_2']) t.same(projects[id], projects.prj_3);
});

t.test('only signed events of Vercel for a known installation have an effect', async (t) => {
  for (const forged of [
    null,
    '',
    'x',
    signatureOf(installationRemoved, 'guessed'),
    signatureOf(`${installationRemoved} `),
    'zz'.repeat(20),
  ])
    t.equal(await sendVercelEvent(installationRemoved, forged), 400, `signature ${forged}`);
  const ofOther = installationRemoved.replace('icfg_1', 'icfg_2');
  t.equal(await sendVercelEvent(ofOther), 200, 'an event of another installation is accepted');
  t.equal(await sendVercelEvent(JSON.stringify({ type: 'deployment.created', payload: {} })), 200);
  t.equal(await tierOf(other), 'starter');
});

t.test('projects that are added to the installation get the same variables', async (t) => {
  projects.prj_4 = {};
  t.equal(await sendVercelEvent(scopeChanged), 200);
  t.same(projects.prj_4, projects.prj_3, 'an added project gets the same variables');
  vercel.token = 'the-token-of-the-next-hour';
  const exchangeCount = exchanges.length;
  for (const project of ['prj_5', 'prj_6']) {
    projects[project] = {};
    t.equal(await sendVercelEvent(scopeChanged), 200);
    t.same(projects[project], projects.prj_3, 'an expired token is renewed');
  }
  t.equal(exchanges.length, exchangeCount + 1, 'Vercel is queried for another token once');
  t.equal((await vercelKeys()).length, 1);
});

t.test('a key that an owner deletes is replaced at the next installation', async (t) => {
  const key = projects.prj_1!.ZEROENTROPY_API_KEY;
  const deletion = { organization_id: other, api_key_id: (await vercelKeys())[0]!.id };
  t.equal((await call('organizations/api-keys/delete-api-key', deletion)).status, 200);
  t.match(
    await bindSignUp(await install({ code: 'good', next }), other),
    { status: 200 },
    'the integration is installed once more',
  );
  t.not(projects.prj_1!.ZEROENTROPY_API_KEY, key, 'a deleted key is not set again');
  t.equal((await vercelKeys()).length, 1);
});

t.test('the removal of the integration ends its key and its tier', async (t) => {
  t.equal(await sendVercelEvent(installationRemoved), 200);
  t.same(await vercelKeys(), [], 'the key ends with the installation');
  const before = vercel.requestCount('');
  t.equal(await sendVercelEvent(scopeChanged), 200);
  t.equal(vercel.requestCount(''), before, 'the token of Vercel is discarded');
  t.equal(await sendVercelEvent(installationRemoved), 200, 'a repeated event is accepted');
  t.equal(await tierOf(other), 'free');
  const actions = (await call('organizations/get-audit-log', { organization_id: other })).body.entries;
  t.match(
    actions
      .map(({ action }: { action: string }) => action)
      .filter((action: string) => /^market/.test(action)),
    ['marketplace.ended', 'marketplace.bound'],
  );
});
