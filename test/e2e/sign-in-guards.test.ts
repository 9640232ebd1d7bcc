import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { joinAccountServer, publicBase } from './account-server.ts';
import { type HttpReply, sendRequest } from './people.ts';
import { adminKey } from './server.ts';

/** Protections of the account API, tested as an attacker would. */

t.setTimeout(testFileMsMax);
const { server, at, createUser, post, createOrganization, mails } = await joinAccountServer();

t.test('sign-in never redirects to another site', async (t) => {
  const evil = [
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\\/evil.example',
    '\\/evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    '/\r/evil.example',
    '\t//evil.example',
    ' //evil.example',
    'https:evil.example',
    'https:/evil.example',
    'https://evil.example',
    'HTTPS://EVIL.example',
    'http:evil.example',
    'http://user@evil.example',
    '//user:word@evil.example',
    '//evil.example:443/%2f..',
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    '/.//evil.example',
    '/a/..//evil.example',
    '//еvil.example',
    '//xn--vil-5cd.example',
    '//evil。example',
    '/\u2028/evil.example',
    'evil.example',
    `${server.url}@evil.example`,
  ];
  t.ok(evil.length >= 30);
  for (const redirect_url of evil) {
    const mailed = await post('/api/auth/magic-link/send', { email: 'ann@example.com', redirect_url });
    const query = `redirect_url=${encodeURIComponent(redirect_url)}`;
    const provider = await sendRequest(at(`/api/auth/github/login?${query}`), { method: 'GET' });
    t.same([mailed.status, provider.status], [400, 400], encodeURIComponent(redirect_url).slice(0, 60));
    t.notMatch(mailed.text + provider.text, /evil/, 'the reply does not repeat the target');
  }
});

t.test('over https cookies are bound to this host and unavailable to scripts and other sites', async (t) => {
  const ann = createUser('cookie@example.com');
  const sent = await post('/api/auth/magic-link/send', { email: ann.email });
  const flags = 'Path=\\/; Max-Age=\\d+; HttpOnly; SameSite=Lax; Secure$';
  const linkReply = sent.headers.get('set-cookie') ?? '';
  t.match(linkReply, new RegExp(`^__Host-sign-in=[\\w-]{43}; ${flags}`));
  t.notMatch(linkReply, /domain/i);
  for (const answer of [
    sent,
    await sendRequest(at('/app/'), { method: 'GET' }),
    await sendRequest(at('/nothing')),
  ])
    t.equal(answer.headers.get('strict-transport-security'), 'max-age=31536000');
  const link = await ann.link();
  const page = await sendRequest(link, { method: 'GET' });
  t.match(page.headers.get('set-cookie'), new RegExp(`^__Host-confirmation=[\\w-]{43}; ${flags}`));
  const cookie = linkReply.split(';')[0]!;
  const signedIn = await sendRequest(link, { method: 'GET', headers: { cookie } });
  t.match(signedIn, { status: 302 });
  const session = signedIn.headers.get('set-cookie') ?? '';
  t.match(session, new RegExp(`^__Host-session=zes_[\\w-]{43}; ${flags}`));
  const begun = await sendRequest(at('/api/auth/github/login'), { method: 'GET' });
  t.match(begun.headers.get('set-cookie'), new RegExp(`^__Host-flow=[\\w-]{200,4000}; ${flags}`));
  const own = { origin: publicBase, cookie: session.split(';')[0]! };
  t.match(await post('/api/users/get-user', {}, own), { status: 200 });
  const planted = { ...own, cookie: `session=planted; ${own.cookie}` };
  t.match(
    await post('/api/users/get-user', {}, planted),
    { status: 200 },
    'a cookie set by another host is ignored',
  );
  // A sibling host can set cookies for this one too, but none with the `__Host-` prefix.
  const value = own.cookie.slice('__Host-session='.length);
  for (const cookie of [`session=${value}`, `a=b,${own.cookie}`, `a=b, ${own.cookie}`, `a="${own.cookie}"`])
    t.match(await post('/api/users/get-user', {}, { ...own, cookie }), { status: 401 }, cookie.slice(0, 12));

  const bob = createUser('cookie-too@example.com');
  const again = await post('/api/auth/magic-link/send', { email: bob.email });
  const asked2 = again.headers.get('set-cookie')?.split(';')[0];
  const next = await sendRequest(await bob.link(), {
    method: 'GET',
    headers: { cookie: `${asked2}; ${own.cookie}`, 'sec-fetch-site': 'cross-site' },
  });
  t.match(next, { status: 302 });
  const newer = { ...own, cookie: next.headers.get('set-cookie')?.split(';')[0] ?? '' };
  t.match(await post('/api/users/get-user', {}, newer), {
    status: 200,
    body: { user: { email: bob.email } },
  });
  t.match(
    await post('/api/users/get-user', {}, own),
    { status: 401 },
    'a session that is replaced in a browser ends',
  );
});

t.test('another site cannot sign a browser in as another user', async (t) => {
  const eve = createUser('eve-elsewhere@example.com');
  for (const foreign of [
    { origin: 'https://evil.example', 'content-type': 'text/plain' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site', origin: 'https://other.example.com' },
  ] as Record<string, string>[]) {
    const linkReply = await post('/api/auth/magic-link/send', { email: eve.email }, foreign);
    t.match(linkReply, { status: 403 }, JSON.stringify(foreign));
    t.equal(linkReply.headers.get('set-cookie'), null);
  }
  const own = { origin: publicBase, 'sec-fetch-site': 'same-origin' };
  t.match(await post('/api/auth/magic-link/send', { email: eve.email }, own), { status: 200 });
});

t.test('unauthenticated callers cannot make the server read large bodies', async (t) => {
  const large = JSON.stringify({ email: `${'x'.repeat(70_000)}@example.com` });
  for (const path of ['auth/magic-link/send', 'admin/login', 'auth/login-link', 'auth/logout'])
    t.match(await post(`/api/${path}`, large, { 'content-type': 'application/json' }), { status: 413 }, path);
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  t.match(await post('/api/auth/magic-link/verify', `token=${'x'.repeat(70_000)}`, form), { status: 413 });
  const ann = createUser('large@example.com');
  await ann.signIn();
  t.match(await ann.call('users/edit-user', { name: 'x'.repeat(65_536) }), { status: 413 });
});

t.test('missing query parameters get 422, and unknown sign-ins are expired', async (t) => {
  const get = (path: string) =>
    sendRequest(at(path), { method: 'GET', headers: { accept: 'application/json' } });
  for (const [path, name] of [
    ['/api/auth/magic-link/verify', 'token'],
    ['/api/auth/github/auth?code=x', 'state'],
  ] as const)
    t.match(await get(path), { status: 422, body: { detail: [{ loc: ['query', name], type: 'missing' }] } });
  t.match(await get('/api/auth/unknown/auth?state=x'), {
    status: 404,
    body: { detail: /Use google or github/ },
  });
  for (const query of ['state=x&code=x', 'state=&error=access_denied'])
    t.match(await get(`/api/auth/github/auth?${query}`), {
      status: 400,
      body: { detail: /Start again/ },
    });
});

t.test('cookies of any size and form are harmless', async (t) => {
  const own = { origin: publicBase };
  for (const cookie of [
    `session=${'x'.repeat(7_000)}`,
    `session=${'x'.repeat(12_000)}`,
    Array.from({ length: 900 }, (_, i) => `c${i}=1`).join('; '),
    'session=',
    'session',
    '=;=;=',
    'session=zes_%00%0d%0a',
    `session=zes_${'A'.repeat(43)}`,
    '__proto__=x; constructor=y',
  ]) {
    const answer = await post('/api/users/get-user', {}, { ...own, cookie });
    t.ok([401, 431].includes(answer.status), `${cookie.slice(0, 30)}: ${answer.status}`);
    const verify = await sendRequest(at('/api/auth/magic-link/verify?token=x'), {
      method: 'GET',
      headers: { cookie },
    });
    t.ok([400, 431].includes(verify.status), `${verify.status}`);
  }
});

t.test('every page forbids scripts, frames and referrers', async (t) => {
  const ann = createUser('page@example.com');
  await post('/api/auth/magic-link/send', { email: ann.email });
  const pages: Record<string, HttpReply> = {
    docs: await sendRequest(at('/docs'), { method: 'GET' }),
    confirmation: await sendRequest(await ann.link(), { method: 'GET' }),
  };
  for (const [name, { status, headers, text }] of Object.entries(pages)) {
    t.equal(status, 200, name);
    const policy = headers.get('content-security-policy') ?? '';
    t.match(policy, /default-src 'none'/, name);
    t.match(policy, /frame-ancestors 'none'/, name);
    t.notMatch(policy, /script-src|unsafe-eval/, name);
    t.equal(headers.get('x-content-type-options'), 'nosniff', name);
    t.equal(headers.get('referrer-policy'), 'no-referrer', name);
    t.notMatch(text, /<script/i, name);
  }
});

t.test(
  'deceptive, multi-line and overlong names are rejected; names of all languages are accepted',
  async (t) => {
    const ann = createUser('names@example.com');
    t.equal((await ann.signIn()).status, 200);
    const rename = (name: string) => ann.call('users/edit-user', { name });
    for (const name of [
      'x'.repeat(256),
      '😀'.repeat(256),
      ' \t ',
      '\u200b\u200d',
      'Acme\r\nBcc: eve@example.com',
      'Acme\u2028Evil',
      'Acme\0',
      'gnp.exe\u202eAcme',
      '\u2066Acme',
      'x'.repeat(60_000),
    ])
      t.match(await rename(name), { status: 400 }, encodeURIComponent(name.slice(0, 20)));
    for (const name of [
      'x'.repeat(255),
      '😀'.repeat(255),
      '<script>alert(1)</script>',
      'Аcme (Кириллица)',
      'العربية',
      '👩‍👧',
    ])
      t.match(await rename(name), { status: 200, body: { user: { name } } });
    const founded = await ann.call('organizations/add-organization', { name: 'Acme' });
    const lookalikeName = await ann.call('organizations/add-organization', { name: 'Асme' });
    t.match([founded.status, lookalikeName.status], [200, 200]);
    t.not(
      founded.body.organization_id,
      lookalikeName.body.organization_id,
      'names are display text, IDs identify',
    );
    const { organization_id } = founded.body;
    for (const email of [
      'bob@example.com\r\nBcc: eve@example.com',
      'bob@example.com, eve@example.com',
      'bob',
    ])
      t.match(await ann.call('organizations/users/invite-user', { organization_id, email }), { status: 422 });
    t.notOk(mails().some((mail) => mail.includes('eve@example.com')));
    const asInvite = await ann.call('organizations/users/accept-invite', { invite_code: ann.token });
    t.match(asInvite, { status: 404 }, 'a session is not an invitation');
  },
);

t.test(
  'another site with the cookie of a user changes nothing: as a form, as text, or as a GET',
  async (t) => {
    const { owner: ann, organization_id } = await createOrganization('lured@example.com');
    const cookie = `__Host-session=${ann.token}`;
    const json = 'application/json';
    const form = 'application/x-www-form-urlencoded';
    const from: Readonly<Record<string, Record<string, string>>> = {
      'another site': { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      'a host of the same site': { origin: 'https://other.example.com', 'sec-fetch-site': 'same-site' },
      'an older browser on another site': { origin: 'https://evil.example' },
      'a page without an origin': { origin: 'null' },
      nowhere: {},
    };
    const changes: Readonly<Record<string, object>> = {
      'organizations/update-organization': { organization_id, name: 'Evil' },
      'organizations/delete-organization': { organization_id },
      'organizations/api-keys/add-api-key': { organization_id, name: 'evil', permission: 'all' },
      'users/edit-user': { name: 'Evil' },
      'users/revoke-session': {},
    };
    for (const [path, body] of Object.entries(changes)) {
      const [at, text] = [`/api/${path}`, JSON.stringify(body)];
      const asForm = new URLSearchParams(Object.entries(body)).toString();
      for (const [origin, headers] of Object.entries(from)) {
        const as = (type: string) => ({ cookie, ...headers, 'content-type': type });
        for (const [type, sent] of [
          [json, text],
          ['text/plain', text],
          ['', text],
          [form, asForm],
        ] as const)
          t.match(await post(at, sent, as(type)), { status: 403 }, `${origin}: ${path} as ${type}`);
        const got = await sendRequest(`${server.url}${at}?${asForm}`, {
          method: 'GET',
          headers: { cookie, ...headers },
        });
        t.match(got, { status: 405 }, `${origin}: GET ${path}`);
      }
      // A form of our own pages cannot send JSON either.
      t.match(await post(at, text, { cookie, origin: publicBase, 'content-type': 'text/plain' }), {
        status: 403,
      });
    }
    const info = (await ann.call('organizations/get-info', { organization_id })).body;
    t.match(info, { organization: { name: 'Acme' }, api_keys: [] });
    t.match((await ann.call('users/get-user')).body, { user: { name: null } });
    const own = { cookie, origin: publicBase, 'sec-fetch-site': 'same-origin' };
    t.match(
      await post('/api/users/edit-user', { name: 'Ann' }, own),
      { status: 200 },
      'a page of the server is allowed',
    );
  },
);

t.test('internal errors reveal no internals', async (t) => {
  const odd = [
    post('/api/users/get-user', '{"a":', {
      'content-type': 'application/json',
      authorization: 'Bearer zes_x',
    }),
    post('/v1/admin/get-audit-log', { cursor: '9'.repeat(400) }, { authorization: `Bearer ${adminKey}` }),
    post(
      '/v1/admin/get-audit-log',
      { before: '2016-12-31T23:59:60Z' },
      { authorization: `Bearer ${adminKey}` },
    ),
    sendRequest(at(`/api/auth/magic-link/verify?token=${'%F0%9F%98%80'.repeat(500)}`), { method: 'GET' }),
    sendRequest(at('/api/auth/github/auth?state=x&code=%00'), { method: 'GET' }),
  ];
  for (const { status, text } of await Promise.all(odd)) {
    t.ok(status >= 400 && status < 500, `${status}: ${text}`);
    t.notMatch(text, /at .*\.js|node_modules|Error:/);
  }
});
