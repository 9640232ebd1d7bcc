import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { freePort } from './free-port.ts';
import { createMailFolder, type HttpReply, sendRequest, startMailServer, TestUser } from './people.ts';
import { adminKey, TestServer } from './server.ts';

const cli = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), 'src', 'cli', 'main.js');
const run = promisify(execFile);

t.setTimeout(testFileMsMax);

t.test(
  'account lifecycle: sign in by mail, create an organization, invite, roles, keys, limits, usage, leave, delete',
  async (t) => {
    const { url: mailUrl, mails } = await startMailServer(t);
    const server = await TestServer.start(t, {
      MAIL_URL: mailUrl,
      MAIL_FROM: 'quarry@example.com',
      BASE_URL: 'https://quarry.example.com',
      PORT: String(await freePort()),
    });
    const [ann, bob, eve] = ['ann', 'bob', 'eve'].map(
      (name) => new TestUser(`${name}@example.com`, server, mails),
    ) as [TestUser, TestUser, TestUser];
    for (const user of [ann, bob, eve]) {
      const { link } = user;
      user.link = async () => (await link.call(user)).replace('https://quarry.example.com', server.url);
      const answer = await user.signIn();
      t.equal(answer.status, 200, `${user.email} signs in`);
      t.match(answer.body, { token_type: 'bearer', access_token: /^zes_/, user: { email: user.email } });
      t.equal(answer.headers.get('set-cookie'), null, 'a program gets no cookie');
    }
    const alone = await ann.call('users/get-user');
    t.same(alone.body.organizations, []);
    t.equal(alone.body.billing_enabled, false, 'without a Stripe key');

    const organization = await ann.call('organizations/add-organization', { name: 'Acme <b>' });
    t.match(organization, {
      status: 200,
      body: { name: 'Acme <b>', permission: 'OWNER', subscription_tier: 'free' },
    });
    const { organization_id } = organization.body;
    t.match(
      await bob.call('organizations/get-info', { organization_id }),
      { status: 404 },
      'strangers learn nothing',
    );
    const eves = Array.from({ length: 12 }, (_, i) =>
      eve.call('organizations/add-organization', { name: `Eve ${i}` }),
    );
    const createReply = (await Promise.all(eves)).map(({ status }) => status).sort();
    t.same(createReply, [...Array(10).fill(200), 429, 429], 'concurrent requests do not exceed the limit');

    const invited = await ann.call('organizations/users/invite-user', {
      organization_id,
      email: 'Bob@EXAMPLE.com',
    });
    t.match(invited, {
      status: 200,
      body: { status: 'invited', invitation: { email: 'bob@example.com', permission: 'MEMBER' } },
    });
    t.equal(invited.body.invite_code, undefined, 'the code is for the invited user only');
    const link = /https?:\S+\/app\/join#(eyJ\S+)/.exec(await bob.findMail('invites you'));
    const invite_code = link?.[1];
    t.match(
      await ann.call('organizations/users/invite-user', { organization_id, email: bob.email }),
      { status: 429, body: { detail: /one address/ } },
      'one a minute to one address',
    );
    const ownOrganization = (await eve.call('users/get-user')).body.organizations[0];
    const outsiders = Array.from({ length: 21 }, (_, i) =>
      eve.call('organizations/users/invite-user', {
        ...ownOrganization,
        permission: null,
        email: `s${i}@example.com`,
      }),
    );
    const invitations = (await Promise.all(outsiders)).map(({ status }) => status).sort();
    t.same(invitations, [...Array(20).fill(200), 429], 'twenty an hour by one organization');
    t.ok(link?.[0].startsWith('https://quarry.example.com/app/'), 'the mail leads to the dashboard');
    t.match((await bob.call('users/get-user')).body.invitations, [
      { organization_name: 'Acme <b>', invited_by: ann.email, invite_code },
    ]);
    t.same((await eve.call('users/get-user')).body.invitations, []);
    for (const other of [eve, ann])
      t.match(
        await other.call('organizations/users/accept-invite', { invite_code }),
        { status: 404 },
        `not meant for ${other.email}`,
      );
    const accept = () => bob.call('organizations/users/accept-invite', { invite_code });
    const accepted = await Promise.all(Array.from({ length: 8 }, accept));
    for (const answer of [...accepted, await accept()])
      t.match(answer, { status: 200, body: { permission: 'MEMBER' } }, 'many times is once');

    const key = { organization_id, name: 'Website', permission: 'read_only' };
    t.match(
      await bob.call('organizations/api-keys/add-api-key', key),
      { status: 403 },
      'members issue no keys',
    );
    const invite = (permission: string, email = 'carl@example.com') =>
      bob.call('organizations/users/invite-user', { organization_id, email, permission });
    for (const more of ['ADMIN', 'OWNER'])
      t.match(
        await invite(more),
        {
          status: 403,
          body: { detail: `Your role (MEMBER) does not allow you to invite users as ${more}.` },
        },
        'no member can invite to a higher role',
      );
    t.match(await invite('MEMBER', ann.email), {
      status: 200,
      body: { invitation: null, status: 'already_member' },
    });
    const bobId = (await bob.call('users/get-user')).body.user.id;
    const promotion = { organization_id, user_id: bobId, permission: 'ADMIN' };
    t.match(await bob.call('organizations/users/update-user', promotion), { status: 403 });
    t.match(await ann.call('organizations/users/update-user', promotion), { status: 200 });
    t.match(await invite('OWNER'), { status: 403 }, 'an ADMIN makes no owners');
    const once = { 'idempotency-key': 'the website of Acme' };
    const issued = await bob.call('organizations/api-keys/add-api-key', key, once);
    t.match(
      await bob.call('organizations/api-keys/add-api-key', key, once),
      { status: 409, body: { detail: new RegExp(issued.body.id) } },
      'sent twice, done once, and the key is not stored to be shown again',
    );
    t.match(
      await bob.call('organizations/api-keys/add-api-key', { ...key, name: 'Other' }, once),
      { status: 409 },
      'another request needs another Idempotency-Key',
    );
    t.match(
      issued,
      { status: 201, body: { api_key: /^ze_/, permission: 'read_only' } },
      'at once after the promotion',
    );

    const asKey = { authorization: `Bearer ${issued.body.api_key}` };
    const list = `${server.url}/v1/collections/get-collection-list`;
    t.match(await sendRequest(list, { headers: asKey, body: {} }), {
      status: 200,
      body: { collection_names: [] },
    });
    const add = `${server.url}/v1/collections/add-collection`;
    t.match(await sendRequest(add, { headers: asKey, body: { collection_name: 'c' } }), { status: 403 });
    t.match(
      await sendRequest(`${server.url}/api/users/get-user`, { headers: asKey, body: {} }),
      { status: 401 },
      'a key is not a user',
    );

    const inOrganization = { authorization: `Bearer ${ann.token}`, 'x-quarry-organization': organization_id };
    t.match(
      await sendRequest(add, {
        headers: { authorization: `Bearer ${ann.token}` },
        body: { collection_name: 'c' },
      }),
      { status: 403, body: { detail: /x-quarry-organization/ } },
    );
    t.match(
      await sendRequest(add, { headers: inOrganization, body: { collection_name: 'c' } }),
      { status: 201 },
      'a user acts in an organization',
    );
    t.same((await sendRequest(list, { headers: asKey, body: {} })).body, { collection_names: ['c'] });
    const asEve = { authorization: `Bearer ${eve.token}`, 'x-quarry-organization': organization_id };
    t.match(await sendRequest(list, { headers: asEve, body: {} }), { status: 404 });

    const info = await bob.call('organizations/get-info', { organization_id });
    t.match(info.body.users, [
      { email: ann.email, permission: 'OWNER' },
      { email: bob.email, permission: 'ADMIN' },
    ]);
    t.match(info.body.api_keys, [
      {
        name: 'Website',
        created_by: bobId,
        api_key: /^ze_\w{4}…\w{4}$/,
        expires_at: null,
        last_used_at: /^20/,
      },
    ]);
    const api_key_id = info.body.api_keys[0].id;
    t.match(await bob.call('organizations/api-keys/update-api-key', { organization_id, api_key_id }), {
      status: 400,
    });
    t.match(
      await bob.call('organizations/api-keys/update-api-key', {
        organization_id,
        api_key_id,
        permission: 'all',
      }),
      { status: 200 },
    );
    t.match(
      await sendRequest(`${server.url}/v1/collections/delete-collection`, {
        headers: asKey,
        body: { collection_name: 'nothing' },
      }),
      { status: 404 },
      'it may write at once',
    );

    const use = (path: string, body: object) =>
      sendRequest(`${server.url}/v1/${path}`, { headers: asKey, body });
    const asAdministrator = { authorization: `Bearer ${adminKey}` };
    const limit = { organization_id, override_bpm_fast: 500 };
    t.match(
      await sendRequest(`${server.url}/v1/admin/update-organization`, {
        headers: asAdministrator,
        body: limit,
      }),
      { status: 200 },
      'the first administrator sets limits',
    );
    const inputs = { model: 'zembed-1', input_type: 'query', input: 'x'.repeat(300), latency: 'fast' };
    t.match(await use('models/embed', inputs), { status: 200 });
    const over = await use('models/embed', inputs);
    t.match(over, { status: 429, body: { detail: /fast/ } }, 'a limit is hit, and named');
    t.match(over.headers.get('retry-after'), /^\d+$/);
    const document = {
      collection_name: 'c',
      path: 'a.txt',
      content: { type: 'text', text: 'Granite.' },
      wait: true,
    };
    t.match(await use('documents/add-document', document), {
      status: 201,
      body: { index_status: 'indexed' },
    });
    t.match(await use('queries/top-documents', { collection_name: 'c', query: 'granite', k: 1 }), {
      status: 200,
      body: { results: [{ path: 'a.txt' }] },
    });
    const always = { start_time: 0, end_time: 4_000_000_000, aggregation_window: 'daily' };
    t.match((await use('usage/queries', { ...always, collection_names: ['c'] })).body, [
      { organization_id, query_type: 'documents', event_count: 1, total_results_returned: 1 },
    ]);
    const embeds: { explicit_call: boolean }[] = (await use('usage/models/embed', always)).body;
    t.match(
      embeds.filter((row) => row.explicit_call),
      [{ organization_id, event_count: 1, total_request_bytes: 450 }],
      'rejected requests are not counted',
    );
    const { body: counters } = await use('usage/counters', {});
    t.match(counters.billing_cycle, { docs: { count: 1 }, indexed: { count: 1 }, queries: { count: 1 } });
    t.match(await sendRequest(`${server.url}/v1/usage/counters`, { headers: asEve, body: {} }), {
      status: 404,
    });

    const annId = (await ann.call('users/get-user')).body.user.id;
    t.match(
      await ann.call('organizations/users/remove-user', { organization_id, user_id: annId }),
      { status: 400 },
      'the last owner stays',
    );
    t.match(
      await ann.call('organizations/users/update-user', {
        organization_id,
        user_id: annId,
        permission: 'MEMBER',
      }),
      { status: 403 },
    );
    t.match(await bob.call('organizations/users/remove-user', { organization_id, user_id: annId }), {
      status: 403,
    });
    t.match(
      await bob.call('organizations/users/remove-user', { organization_id, user_id: bobId }),
      { status: 200 },
      'he leaves',
    );
    t.match(await bob.call('organizations/get-info', { organization_id }), { status: 404 });

    t.match(
      await use('collections/get-collection-list', {}),
      { status: 200 },
      'the keys of a removed member stay',
    );
    t.match(await ann.call('organizations/api-keys/delete-api-key', { organization_id, api_key_id }), {
      status: 200,
    });
    t.match(await use('collections/get-collection-list', {}), { status: 401 }, 'revoked at once');
    const second = { organization_id, name: 'Second', permission: 'all' };
    const other = (await ann.call('organizations/api-keys/add-api-key', second)).body.api_key;

    const log = await ann.call('organizations/get-audit-log', { organization_id });
    const actions: string[] = log.body.entries.map((entry: { action: string }) => entry.action).reverse();
    t.ok(actions.includes('access.denied'), 'failed attempts are recorded too');
    const done = actions.filter((action) => action !== 'access.denied');
    t.same(done, [
      'organization.created',
      'member.invited',
      'member.joined',
      'member.permission_changed',
      'api_key.created',
      'api_key.updated',
      'organization.updated',
      'member.left',
      'api_key.deleted',
      'api_key.created',
    ]);
    t.notOk(log.text.includes(issued.body.api_key), 'the audit log knows no secret');

    await server.restart();
    t.match(
      await sendRequest(list, { headers: asKey, body: {} }),
      { status: 401 },
      'revoked keys stay revoked',
    );
    t.match(
      await sendRequest(`${server.url}/api/users/get-user`, {
        headers: { authorization: `Bearer ${ann.token}` },
        body: {},
      }),
      { status: 200 },
      'sessions survive a restart',
    );
    t.match(await ann.call('organizations/delete-organization', { organization_id, confirm_name: 'Acme' }), {
      status: 400,
    });
    t.match(
      await ann.call('organizations/delete-organization', { organization_id, confirm_name: 'Acme <b>' }),
      { status: 200 },
    );
    t.match(
      await sendRequest(list, { headers: { authorization: `Bearer ${other}` }, body: {} }),
      { status: 401 },
      'its keys end at once',
    );
    t.match(await ann.call('organizations/get-info', { organization_id }), { status: 404 });
    t.same((await ann.call('users/get-user')).body.organizations, []);
    await waitUntil('the end of the organization', () => server.log.includes('organization removed'));

    t.match(await ann.call('auth/logout'), { status: 200 });
    t.match(await ann.call('users/get-user'), { status: 401 }, 'signed out at once');
    for (const secret of [ann.token, bob.token, issued.body.api_key, other])
      t.notOk(server.log.includes(secret));
  },
);

t.test(
  'a sign-in link works once: directly in the requesting browser, after confirmation in another',
  async (t) => {
    const { url: mailUrl, mails } = createMailFolder(t);
    const server = await TestServer.start(t, { MAIL_URL: mailUrl });
    const ann = new TestUser('ann@example.com', server, mails);
    const sent = await sendRequest(`${server.url}/api/auth/magic-link/send`, {
      body: { email: ann.email, redirect_url: '/docs?x=1#y' },
    });
    t.match(sent, { status: 200, body: { message: /a sign-in link was sent/ } });
    const browser = sent.headers.get('set-cookie') ?? '';
    t.match(browser, /^sign-in=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/);
    const link = await ann.link();
    t.match(
      await sendRequest(`${server.url}/api/auth/magic-link/send`, { body: { email: ann.email } }),
      { status: 200 },
      'an immediate repeated request gets the same reply',
    );
    t.equal(
      mails().filter((mail) => mail.includes('Sign in to Quarry')).length,
      1,
      'and sends one mail a minute',
    );
    const headRequest = {
      method: 'HEAD',
      headers: { cookie: browser.split(';')[0] ?? '', accept: 'application/json' },
    };
    t.match(await sendRequest(link, headRequest), { status: 405 }, 'a HEAD request does not use the link');

    const page = await sendRequest(link, { method: 'GET' });
    t.equal(page.status, 200, 'and follows it');
    t.match(page.text, /<strong>a…n@example\.com<\/strong>/);
    t.match(
      page.headers.get('content-security-policy'),
      /default-src 'none'.*form-action 'self'; frame-ancestors 'none'/,
    );
    t.equal(page.headers.get('referrer-policy'), 'no-referrer');
    t.equal(page.headers.get('cache-control'), 'no-store');
    const field = (name: string) => new RegExp(`name="${name}" value="([^"]+)"`).exec(page.text)?.[1] ?? '';
    const form = new URLSearchParams({
      token: field('token'),
      confirmation: field('confirmation'),
    }).toString();
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    const action = `${server.url}/api/auth/magic-link/verify`;
    t.match(
      await sendRequest(action, { headers: type, body: form }),
      { status: 400 },
      'the form alone, from elsewhere, does nothing',
    );

    const cookieOf = (header: string) => header.split(';')[0] ?? '';
    const attempts = await Promise.all(
      Array.from({ length: 20 }, () =>
        sendRequest(link, { method: 'GET', headers: { cookie: cookieOf(browser) } }),
      ),
    );
    const won = attempts.filter(({ status }) => status === 302);
    t.equal(won.length, 1, 'of 20 at once, one signs in');
    for (const { status, body } of attempts)
      if (status !== 302) t.match([status, body], [400, { detail: /invalid or has expired/ }]);
    t.equal(won[0]!.headers.get('location'), '/docs?x=1#y');
    const session = won[0]!.headers.get('set-cookie') ?? '';
    t.match(session, /^session=zes_[\w-]{43}; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax$/);
    const confirmation = cookieOf(page.headers.get('set-cookie') ?? '');
    t.match(
      await sendRequest(action, { headers: { ...type, cookie: confirmation }, body: form }),
      { status: 400 },
      'it is used up',
    );

    const cookie = cookieOf(session);
    const whoAmI = `${server.url}/api/users/get-user`;
    const own = { cookie, origin: server.url };
    t.match(await sendRequest(whoAmI, { headers: own, body: {} }), {
      status: 200,
      body: { user: { email: ann.email } },
    });
    for (const site of ['same-origin', 'none'])
      t.match(await sendRequest(whoAmI, { headers: { cookie, 'sec-fetch-site': site }, body: {} }), {
        status: 200,
      });
    for (const foreign of [
      {},
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none', origin: 'https://evil.example' },
    ])
      t.match(
        await sendRequest(whoAmI, { headers: { cookie, ...foreign }, body: {} }),
        { status: 403 },
        JSON.stringify(foreign),
      );
    t.match(
      await sendRequest(whoAmI, { headers: { ...own, 'content-type': 'text/plain' }, body: '{}' }),
      { status: 403 },
      'as a form sends it',
    );
    t.match(
      await sendRequest(whoAmI, {
        headers: { ...own, cookie: `x=${'y'.repeat(9_000)}; ${cookie}` },
        body: {},
      }),
      { status: 401 },
    );
  },
);

t.test('the operator signs in with the link that the server prints or that login-link creates', async (t) => {
  const server = await TestServer.start(t);
  const printed = /http:\S+verify\?token=\S+/.exec(server.printedText)?.[0] ?? '';
  const json = { accept: 'application/json' };
  const { stdout } = await run('env', [
    '-u',
    'NODE_OPTIONS',
    process.execPath,
    cli,
    'login-link',
    '--data',
    server.data,
    '--url',
    server.url,
  ]);
  t.match(
    await sendRequest(printed, { method: 'GET', headers: json }),
    { status: 400 },
    'a newer link makes the older worthless',
  );
  const page = await sendRequest(stdout.trim(), { method: 'GET' });
  t.match(page.text, /the operator of this server/);
  const answer = await sendRequest(stdout.trim(), { method: 'GET', headers: json });
  t.match(answer, { status: 200, body: { user: { email: 'operator@localhost' } } });
  const headers = { authorization: `Bearer ${answer.body.access_token}` };
  const { body } = await sendRequest(`${server.url}/api/users/get-user`, { headers, body: {} });
  t.match(body.organizations, [{ name: 'default', permission: 'OWNER', subscription_tier: 'enterprise' }]);
  const { organization_id } = body.organizations[0];
  t.match(
    await sendRequest(`${server.url}/api/organizations/delete-organization`, {
      headers,
      body: { organization_id },
    }),
    { status: 409 },
  );
  const invited = await sendRequest(`${server.url}/api/organizations/users/invite-user`, {
    headers,
    body: { organization_id, email: 'b@example.com' },
  });
  t.match(
    invited.body,
    { invite_code: /^eyJ/, message: /does not send mail/ },
    'without mail the inviter gets the code',
  );
  t.match(await sendRequest(`${server.url}/api/auth/magic-link/send`, { body: { email: 'b@example.com' } }), {
    status: 503,
    body: { detail: /QUARRY_MAIL_URL/ },
  });
  t.match(
    await sendRequest(`${server.url}/api/auth/magic-link/send`, { body: { email: 'operator@localhost' } }),
    { status: 422 },
    'the operator cannot be impersonated by mail',
  );
  t.match(await sendRequest(`${server.url}/api/auth/login-link`, { body: { proof: 'x'.repeat(43) } }), {
    status: 401,
  });
});

t.test('the administrator signs in with the password from the settings', async (t) => {
  const off = await TestServer.start(t);
  const options = async ({ url }: TestServer) =>
    (await sendRequest(`${url}/api/auth/options`, { method: 'GET' })).body;
  const none = { mail: false, google: false, github: false, administrator: false, resend_seconds: 60 };
  t.same(await options(off), none);
  t.match(
    await sendRequest(`${off.url}/api/admin/login`, { body: { password: 'anything at all' } }),
    { status: 503 },
    'there is no default',
  );
  await off.stop();
  const hashing = run('env', ['-u', 'NODE_OPTIONS', process.execPath, cli, 'hash-password']);
  hashing.child.stdin?.end('correct horse battery staple\n');
  const hash = (await hashing).stdout.trim();
  t.match(hash, /^\$argon2id\$/);
  const server = await TestServer.start(t, { ADMIN_PASSWORD_HASH: hash, MAIL_URL: 'console:' });
  t.same(await options(server), { ...none, mail: true, administrator: true });
  const login = (password: string, headers = {}) =>
    sendRequest(`${server.url}/api/admin/login`, { headers, body: { password } });
  t.match(await login('wrong'), { status: 401 });
  const program = await login('correct horse battery staple');
  t.match(program.body, { is_admin: true, access_token: /^zes_/ });
  const headers = { authorization: `Bearer ${program.body.access_token}` };
  const organization_id = '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10';
  t.match(
    await sendRequest(`${server.url}/v1/admin/create-organization`, { headers, body: { organization_id } }),
    {
      status: 201,
    },
  );
  t.match(
    await sendRequest(`${server.url}/api/users/get-user`, { headers, body: {} }),
    { status: 401 },
    'the administrator is no user',
  );
  t.match(
    await sendRequest(`${server.url}/v1/admin/create-organization`, {
      headers: { authorization: `Bearer ${adminKey}` },
      body: { organization_id },
    }),
    { status: 409 },
    'the key works beside it',
  );
  const browser = await login('correct horse battery staple', { origin: server.url });
  t.equal(browser.body.access_token, undefined, 'no script sees the session of a browser');
  const cookieOf = (answer: HttpReply) => (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const first = { cookie: cookieOf(browser), origin: server.url };
  const listed = async (headers: Record<string, string>) =>
    (await sendRequest(`${server.url}/v1/admin/list-api-keys`, { headers, body: { organization_id } }))
      .status;
  t.equal(await listed(first), 200);
  const cookie = cookieOf(await login('correct horse battery staple', first));
  const own = { cookie, origin: server.url };
  t.same([await listed(own), await listed(first)], [200, 401], 'another sign-in ends the session before it');
  const link = /https?:\S+verify\?token=\S+/.exec(server.printedText)?.[0] ?? 'no link';
  const user = await sendRequest(link, { method: 'GET', headers: { accept: 'application/json' } });
  const asPerson = { authorization: `Bearer ${user.body.access_token}`, origin: server.url };
  const isSeen = async (headers: Record<string, string>) =>
    (await sendRequest(`${server.url}/api/users/get-user`, { headers, body: {} })).body
      .administrator_signed_in;
  t.equal(await isSeen({ ...asPerson, cookie }), true, 'users see administrator access, too');
  t.equal(await isSeen({ ...asPerson, cookie: 'admin=zes_guessed' }), false);
  t.equal(await isSeen(asPerson), false);
  const out = await sendRequest(`${server.url}/api/admin/logout`, { headers: own, body: {} });
  t.match([out.body, out.headers.get('set-cookie')], [{ is_admin: false }, /^admin=; Path=\/; Max-Age=0/]);
  t.equal(await isSeen({ ...asPerson, cookie }), false);
  t.equal(await listed(own), 401);
  for (let i = 0; i < 3; i += 1) await login('wrong');
  const late = await login('correct horse battery staple');
  t.match(
    [late.status, late.headers.get('retry-after')],
    [429, /^\d+$/],
    'wrong tries have to wait, right ones too',
  );
  const warning = /"level":40.*QUARRY_MAIL_URL=console: prints sign-in links/;
  t.notMatch(server.fullLog, warning, 'on a machine of one’s own mail may be printed');
  await server.restart({ BASE_URL: 'https://quarry.example.com', PORT: String(await freePort()) });
  t.match(server.fullLog, warning, 'elsewhere the start warns of it');
});
