import { FakeModelService, serviceDimensions } from '../models/fake-model-service.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { freePort } from './free-port.ts';
import { sendRequest, startMailServer } from './people.ts';
import { TestServer } from './server.ts';
import { joinSharedServer } from './shared-server.ts';

/** Permitted connections of the server, and its error messages for the others. */

t.setTimeout(testFileMsMax);

async function egressOf({ url }: TestServer): Promise<string> {
  const { components } = (await (await fetch(`${url}/readyz`)).json()) as {
    components: { egress: { detail: string } };
  };
  return components.egress.detail;
}

const [service, elsewhere] = [await FakeModelService.start(t), await FakeModelService.start(t)];
const { url: mailUrl, mails } = await startMailServer(t);
const blockedPort = await freePort();
const elsewhereUrl = `http://127.0.0.1:${elsewhere.port}`;
/** Server without outgoing connections, with settings of every feature that needs one. */
const blocked = await TestServer.start(t, {
  PORT: String(blockedPort),
  BASE_URL: `http://127.0.0.1:${blockedPort}`,
  EGRESS: 'none',
  EMBEDDING_URL: service.url,
  EMBEDDING_MODEL: 'theirs',
  EMBEDDING_DIMENSIONS: String(serviceDimensions),
  CHAT_URL: service.url,
  CHAT_MODEL: 'theirs',
  MAIL_URL: mailUrl,
  GOOGLE_CLIENT_ID: 'client',
  GOOGLE_CLIENT_SECRET: 'secret',
  OIDC_ISSUER: elsewhereUrl,
  STRIPE_SECRET_KEY: 'sk_test_of_the_tests',
  STRIPE_API_BASE: elsewhereUrl,
  AWS_MARKETPLACE: 'true',
  AWS_ENDPOINT: elsewhereUrl,
  AWS_ACCESS_KEY_ID: 'id',
  AWS_SECRET_ACCESS_KEY: 'secret',
  VERCEL_CLIENT_ID: 'oac_1',
  VERCEL_CLIENT_SECRET: 'secret',
  VERCEL_API_URL: elsewhereUrl,
});

t.test('by default no host is allowed, and hosts in the settings are listed', async (t) => {
  t.equal(await egressOf((await joinSharedServer()).server), 'configured: no hosts in the settings');
  const allowed = await FakeModelService.start(t);
  const at = await freePort();
  const server = await TestServer.start(t, {
    PORT: String(at),
    BASE_URL: `http://127.0.0.1:${at}`,
    EMBEDDING_URL: allowed.url,
    EMBEDDING_MODEL: 'theirs',
    MAIL_URL: 'smtp://user:password@mail.example',
    EGRESS_HOSTS: 'further.example:8443',
  });
  const { port } = allowed;
  const hosts = ['127.0.0.1', 'mail.example', 'further.example'];
  t.equal(
    await egressOf(server),
    `configured: ${hosts[0]}:${port} (model), ${hosts[1]}:587 (mail), ${hosts[2]}:8443 (egressHosts)`,
  );
  const embedded = await new CheckedApiClient(server).request('embeddings', {
    model: 'theirs',
    input: 'gull',
  });
  t.equal(embedded.status, 200, 'the host is reached');
});

t.test(
  'with QUARRY_EGRESS=none a feature that needs a connection is reported at startup and in errors',
  async (t) => {
    t.equal(await egressOf(blocked), 'none: all outgoing connections are blocked');
    for (const purpose of ['model', 'mail', 'sign-in'])
      t.match(blocked.fullLog, new RegExp(`"purpose":"${purpose}".*feature disabled by QUARRY_EGRESS=none`));
    const api = new CheckedApiClient(blocked);
    const embedded = await api.request('embeddings', { model: 'theirs', input: 'gull' });
    t.match(embedded, { status: 503, body: { detail: /QUARRY_EGRESS is "none"/ } });
    const collection_name = 'handbook';
    await api.call('collections/add-collection', { collection_name, embedding_model: 'zembed-1' });
    await api.add(collection_name, 'refunds.txt', 'Refunds are paid within 14 days.');
    const answer = await api.request('answers', { collection_name, question: 'How long do refunds take?' });
    t.match(answer, { status: 503, body: { detail: /QUARRY_EGRESS/ } });
    const link = await sendRequest(`${blocked.url}/api/auth/magic-link/send`, {
      body: { email: 'ann@example.com' },
    });
    t.match(link, { status: 503, body: { detail: /QUARRY_EGRESS does not allow connections/ } });
    const login = await sendRequest(`${blocked.url}/api/auth/google/login`, {
      method: 'GET',
      headers: { accept: 'application/json' },
    });
    t.match(login, { status: 503, body: { detail: /identity provider: .*QUARRY_EGRESS is "none"/ } });
    t.same([service.requests.length, elsewhere.requests.length, mails().length], [0, 0, 0]);
  },
);

t.test('with QUARRY_EGRESS=none payments and marketplaces name the setting and what to do', async (t) => {
  const accept = { accept: 'application/json' };
  const link = /http:\S+verify\?token=\S+/.exec(blocked.printedText)?.[0] ?? '';
  const { access_token } = (await sendRequest(link, { method: 'GET', headers: accept })).body;
  const headers = { authorization: `Bearer ${access_token}` };
  const call = (path: string, body: object) => sendRequest(`${blocked.url}/api/${path}`, { headers, body });
  const { organization_id } = (await call('organizations/add-organization', { name: 'Acme' })).body;
  const token = new URLSearchParams({ 'x-amzn-marketplace-token': 'token' }).toString();
  const form = { 'content-type': 'application/x-www-form-urlencoded', ...accept };
  const install = new URLSearchParams({ code: 'good', next: 'https://vercel.com/x' });
  const answers = {
    'the payment provider': await call('billing/add-payment-method', { organization_id }),
    'AWS Marketplace': await sendRequest(`${blocked.url}/api/marketplaces/aws`, {
      body: token,
      headers: form,
    }),
    Vercel: await sendRequest(`${blocked.url}/api/marketplaces/vercel?${install}`, {
      method: 'GET',
      headers: accept,
    }),
  };
  for (const [who, answer] of Object.entries(answers)) {
    t.equal(answer.status, 503, `${who}: ${answer.text}`);
    t.match(answer.body.detail, new RegExp(`cannot connect to ${who}: .*QUARRY_EGRESS is "none"`));
    t.match(answer.body.detail, /set it to "configured"/);
    t.equal(answer.headers.get('x-should-retry'), 'false');
  }
  t.equal(elsewhere.requests.length, 0, 'nothing was sent');
});
