import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { createOperatorOrganization } from './operator.ts';
import { type HttpReply, sendRequest } from './people.ts';
import { adminKey } from './server.ts';
import { joinSharedServer } from './shared-server.ts';

/** Calls from pages of other sites, which a key allows by its list of origins. */

t.setTimeout(testFileMsMax);
const { server, organization_id } = await joinSharedServer();
const administration = new CheckedApiClient(server, adminKey);

const site = 'https://www.example.com';
const other = 'https://other.example.com';
const listPath = '/v1/collections/get-collection-list';

async function addKey(fields: object = {}): Promise<string> {
  const body = { organization_id, name: 'Site', permission: 'all', ...fields };
  return (await administration.call('admin/add-api-key', body)).api_key;
}

/** Sends the request that a browser sends before a call with a key. */
function preflight(path: string, origin: string, method = 'POST'): Promise<Response> {
  const headers = {
    origin,
    'access-control-request-method': method,
    'access-control-request-headers': 'authorization,content-type,x-stainless-lang',
  };
  return fetch(`${server.url}${path}`, { method: 'OPTIONS', headers });
}

/** Sends a call as a browser sends it for a page of `origin`. */
function callFrom(origin: string, path: string, headers: Record<string, string>): Promise<Response> {
  const page = { origin, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' };
  return fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...page, ...headers },
    body: '{}',
  });
}

const allowedOrigin = ({ headers }: Response) => headers.get('access-control-allow-origin');

/** The key of the list, as the administrator sees it. */
async function findKey(name: string) {
  const { api_keys } = await administration.call('admin/list-api-keys', { organization_id });
  return api_keys.find((key) => key.name === name) as unknown as { id: string; allowed_origins: string[] };
}

await t.test('without a list, no origin is allowed', async (t) => {
  const key = await addKey({ name: 'closed' });
  t.same((await findKey('closed')).allowed_origins, []);
  const reply = await callFrom(site, listPath, { authorization: `Bearer ${key}` });
  t.equal(reply.status, 200, 'the list restricts browsers only');
  t.equal(allowedOrigin(reply), null);
});

await t.test('a page of an allowed origin can call with the key, and no other page', async (t) => {
  const key = await addKey({ name: 'open', allowed_origins: [`${site}/`, 'http://LOCALHOST:5173', site] });
  t.same((await findKey('open')).allowed_origins, [site, 'http://localhost:5173']);
  const allowed = await preflight(listPath, site);
  t.equal(allowed.status, 200);
  t.equal(allowedOrigin(allowed), site);
  t.equal(allowed.headers.get('access-control-allow-headers'), 'authorization,content-type,x-stainless-lang');
  t.match(allowed.headers.get('access-control-allow-methods'), /POST/);
  t.equal(allowed.headers.get('access-control-max-age'), '600');
  t.equal(allowed.headers.get('vary'), 'origin');
  t.equal((await preflight(listPath, other)).status, 200, 'it does not tell which origins a key allows');
  const authorization = `Bearer ${key}`;
  const reply = await callFrom(site, listPath, { authorization });
  t.equal(allowedOrigin(reply), site);
  t.match(reply.headers.get('access-control-expose-headers'), /x-request-id/);
  t.equal(reply.headers.get('access-control-allow-credentials'), null);
  t.equal(allowedOrigin(await callFrom(other, listPath, { authorization })), null);
  t.equal(allowedOrigin(await callFrom('null', listPath, { authorization })), null);
  const closed = await addKey({ name: 'without' });
  t.equal(
    allowedOrigin(await callFrom(site, listPath, { authorization: `Bearer ${closed}` })),
    null,
    'the list of another key does not count',
  );
  const wrong = await callFrom(site, listPath, { authorization: 'Bearer wrong' });
  t.equal(wrong.status, 401);
  t.equal(allowedOrigin(wrong), site, 'the page can read that its key is invalid');
  t.equal(allowedOrigin(await callFrom(other, listPath, { authorization: 'Bearer wrong' })), other);
});

await t.test(
  'files can be read by any page with their URL; accounts, administration and the dashboard cannot',
  async (t) => {
    const key = await addKey({ name: 'files' });
    const api = new CheckedApiClient(server, key);
    await api.call('collections/add-collection', { collection_name: 'c' });
    await api.add('c', 'p', 'Granite.');
    const { file_url } = await api.info('c', 'p');
    const file = await fetch(file_url, { headers: { origin: site } });
    t.equal(await file.text(), 'Granite.');
    t.equal(allowedOrigin(file), site);
    t.equal(file.headers.get('vary'), 'origin');
    const plain = await fetch(file_url);
    t.equal(plain.headers.get('vary'), 'origin', 'a cached reply is not used for another page');
    t.equal(allowedOrigin(plain), null);
    await plain.text();
    t.equal((await preflight('/v1/documents/c/new', site, 'PUT')).status, 200);
    for (const path of ['/v1/admin/list-organizations', '/api/users/get-user', '/api/auth/password/sign-in'])
      t.equal((await preflight(path, site)).status, 403, path);
    t.equal((await preflight('/v1/nothing', site)).status, 404);
    t.equal((await preflight(listPath, site, 'PUT')).status, 405);
    const asAdministrator = await callFrom(site, '/v1/admin/list-organizations', {
      authorization: `Bearer ${adminKey}`,
    });
    t.equal(asAdministrator.status, 200);
    t.equal(allowedOrigin(asAdministrator), null);
    t.equal(allowedOrigin(await fetch(`${server.url}/app/`, { headers: { origin: site } })), null);
  },
);

await t.test('a change applies at once and survives a restart', async (t) => {
  const here = 'https://changing.example.com';
  const key = await addKey({ name: 'changing', allowed_origins: [here] });
  const { id: api_key_id } = await findKey('changing');
  const change = (fields: object) =>
    administration.status('admin/update-api-key', { organization_id, api_key_id, ...fields });
  const from = (origin: string) => callFrom(origin, listPath, { authorization: `Bearer ${key}` });
  const next = 'https://next.example.com';
  t.equal(await change({ name: 'changing' }), 200);
  t.equal(allowedOrigin(await from(here)), here, 'absent keeps it');
  t.equal(await change({ allowed_origins: [next] }), 200);
  t.equal(allowedOrigin(await from(here)), null);
  t.equal(allowedOrigin(await from(next)), next);
  await server.restart();
  t.equal(allowedOrigin(await from(next)), next);
  t.equal(await change({ allowed_origins: [] }), 200);
  t.equal(allowedOrigin(await from(next)), null);
});

await t.test('invalid origins are rejected', async (t) => {
  const body = { organization_id, name: 'wrong', permission: 'all' };
  const many = Array.from({ length: 65 }, (_, i) => `https://s${i}.example.com`);
  const wrong = ['*', 'https://*.example.com', 'www.example.com', `${site}/app`, 'null', 'file:///etc', ''];
  for (const allowed_origins of [
    ...wrong.map((origin) => [origin]),
    [`${site}?q`],
    ['https://a@b.com'],
    many,
  ])
    t.equal(
      await administration.status('admin/add-api-key', { ...body, allowed_origins }),
      400,
      String(allowed_origins),
    );
  t.equal(await administration.status('admin/add-api-key', { ...body, allowed_origins: site }), 422);
});

await t.test('members set the origins of their keys, and the audit log shows their number', async (t) => {
  const organizations = await memberOrganization();
  const issued = await organizations.send('api-keys/add-api-key', {
    name: 'Page',
    permission: 'read_only',
    allowed_origins: [site],
  });
  t.match(issued, { status: 201, body: { allowed_origins: [site] } });
  const reply = await callFrom(site, listPath, { authorization: `Bearer ${issued.body.api_key}` });
  t.equal(allowedOrigin(reply), site);
  const api_key_id = issued.body.id;
  t.match(await organizations.send('api-keys/update-api-key', { api_key_id, allowed_origins: [] }), {
    status: 200,
  });
  const info = await organizations.send('get-info', {});
  t.match(
    info.body.api_keys.find(({ id }: { id: string }) => id === api_key_id),
    { allowed_origins: [] },
  );
  const log = await organizations.send('get-audit-log', {});
  const [updated, created] = log.body.entries;
  t.match(updated, { action: 'api_key.updated', details: { name: 'Page' } });
  t.match(created, { action: 'api_key.created', details: { origins: 1 } });
});

/** An organization, as its owner uses it in the dashboard. */
async function memberOrganization() {
  const { token, organization_id: id } = await createOperatorOrganization(server);
  const headers = { authorization: `Bearer ${token}` };
  const send = (path: string, body: object): Promise<HttpReply> =>
    sendRequest(`${server.url}/api/organizations/${path}`, {
      headers,
      body: { organization_id: id, ...body },
    });
  return { send };
}
