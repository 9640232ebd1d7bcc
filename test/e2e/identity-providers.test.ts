import type { RequestListener } from 'node:http';
import t from '../support/tap.ts';
import { freePort } from './free-port.ts';
import { listenOnLoopback, openIdIssuer } from './openid-issuer.ts';
import { sendRequest } from './people.ts';
import { TestServer } from './server.ts';

/** Minimal browser for sign-in: stores cookies by host and does not follow redirects on its own. */
class FakeBrowser {
  readonly #cookies = new Map<string, Map<string, string>>();

  async visit(address: string, form?: Record<string, string>, headers: Record<string, string> = {}) {
    const { host } = new URL(address);
    const cookies = this.#cookies.get(host) ?? new Map<string, string>();
    this.#cookies.set(host, cookies);
    const response = await fetch(address, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map((pair) => pair.join('=')).join('; '), ...headers },
      ...(form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (cookie.split(';')[0] ?? '').split('=', 2);
      if (cookie.includes('; Max-Age=0;')) cookies.delete(name);
      else cookies.set(name, value);
    }
    const location = response.headers.get('location');
    return {
      status: response.status,
      location: location === null ? null : new URL(location, address).href,
      text: await response.text(),
    };
  }

  cookiesOf(address: string): string[] {
    return [...(this.#cookies.get(new URL(address).host)?.keys() ?? [])];
  }

  /** Follows redirects and fills in the provider's forms until `isReached` returns true. */
  async followRedirects(
    address: string,
    login: string,
    isReached: (address: string) => boolean,
  ): Promise<string> {
    let at = address;
    for (let steps = 0; steps < 20 && !isReached(at); steps += 1) {
      let page = await this.visit(at);
      const action = /<form[^>]* action="([^"]+)"/.exec(page.text)?.[1];
      if (page.location === null && action !== undefined) {
        const prompt = /name="prompt" value="(\w+)"/.exec(page.text)?.[1] ?? '';
        page = await this.visit(new URL(action, at).href, { prompt, login, password: 'x' });
      }
      if (page.location === null)
        throw new Error(`${at} has neither a redirect nor a form: ${page.status} ${page.text.slice(0, 300)}`);
      at = page.location;
    }
    return at;
  }
}

const json = { accept: 'application/json' };
const issuerSecret = 'a-secret-between-the-two';

/** Server that signs users in with an OpenID Connect issuer. */
async function startWithIssuer() {
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const callback = `${base}/api/auth/google/auth`;
  const issuer = await openIdIssuer(t, callback);
  const server = await TestServer.start(t, {
    PORT: String(port),
    BASE_URL: base,
    GOOGLE_CLIENT_ID: 'quarry',
    GOOGLE_CLIENT_SECRET: issuerSecret,
    OIDC_ISSUER: issuer,
  });
  const begin = `${base}/api/auth/google/login`;
  const isCallback = (address: string) => address.startsWith(callback);
  /** Signs in at the issuer and returns the callback that the browser has not opened yet. */
  const signIn = async (login: string, browser = new FakeBrowser()) => {
    const away = (await browser.visit(`${begin}?redirect_url=/docs%3Fx`)).location!;
    const returned = await browser.followRedirects(away, login, isCallback);
    return { browser, away, returned };
  };
  return { server, base, callback, issuer, begin, signIn };
}

/** Behavior of the emulated GitHub. */
interface GitHubBehavior {
  isVerified: boolean;
  isBroken: boolean;
  rejectsCode: boolean;
  userId: unknown;
}

function emulateGitHub(behavior: GitHubBehavior): RequestListener {
  return (request, response) => {
    const url = new URL(request.url ?? '', 'http://x');
    const reply = (body: unknown, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (url.pathname === '/login/oauth/authorize') {
      const to = new URL(url.searchParams.get('redirect_uri') ?? '');
      to.searchParams.set('code', 'the-code');
      to.searchParams.set('state', url.searchParams.get('state') ?? '');
      return response.writeHead(302, { location: to.href }).end();
    }
    if (behavior.isBroken) return reply({ message: 'down' }, 500);
    // GitHub answers an invalid code with status 200.
    if (behavior.rejectsCode) return reply({ error: 'bad_verification_code', error_description: 'no' });
    if (url.pathname === '/login/oauth/access_token')
      return reply({ access_token: 'gho_x', token_type: 'bearer', scope: 'read:user,user:email' });
    if (request.headers.authorization !== 'Bearer gho_x') return reply({}, 401);
    if (url.pathname === '/api/v3/user') return reply({ id: behavior.userId, login: 'ada' });
    return reply([
      { email: 'second@example.com', primary: false, verified: true },
      { email: 'Ada@Example.com', primary: true, verified: behavior.isVerified },
    ]);
  };
}

/** Server that admits invited users only and signs them in with the emulated GitHub. */
async function startWithGitHub() {
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const behavior: GitHubBehavior = { isVerified: true, isBroken: false, rejectsCode: false, userId: 4711 };
  const emulator = emulateGitHub(behavior);
  const gitHubUrl = await listenOnLoopback(t, (request, response) => void emulator(request, response));
  const server = await TestServer.start(t, {
    PORT: String(port),
    BASE_URL: base,
    GITHUB_CLIENT_ID: 'quarry',
    GITHUB_CLIENT_SECRET: 'hush',
    GITHUB_BASE_URL: gitHubUrl,
    SIGN_UP: 'invited',
    OWNED_ORGANISATIONS_MAX: '0',
  });
  const signIn = async (query = '') => {
    const browser = new FakeBrowser();
    const begin = `${base}/api/auth/github/login${query}`;
    const away = JSON.parse((await browser.visit(begin, undefined, json)).text).url;
    const returned = (await browser.visit(away)).location!;
    return browser.visit(returned, undefined, json);
  };
  return { server, base, behavior, signIn };
}

const openId = await startWithIssuer();
const gitHub = await startWithGitHub();

t.test('the callback of an OpenID Connect issuer works once, in the browser that started', async (t) => {
  const { base, issuer, begin, signIn } = openId;
  const ada = await signIn('ada@example.com');
  t.match(ada.away, new RegExp(`^${issuer}/auth\\?.*code_challenge_method=S256`));
  const other = new FakeBrowser();
  t.equal((await other.visit(ada.returned)).status, 400, 'another browser cannot use the callback');
  await other.visit(begin);
  t.equal(
    (await other.visit(ada.returned)).status,
    400,
    'another browser with its own pending sign-in cannot use the callback',
  );
  t.match((await ada.browser.visit(ada.returned.replace(/state=[^&]{8}/, 'state=xxxxxxxx'))).status, 400);
  const done = await ada.browser.visit(ada.returned);
  t.match([done.status, done.location], [302, `${base}/docs?x`]);
  t.same(ada.browser.cookiesOf(base), ['session'], 'the browser keeps no cookie of the sign-in');
  const own = { 'content-type': 'application/json', origin: base };
  t.match((await ada.browser.visit(`${base}/api/users/get-user`, {}, own)).text, /ada@example\.com/);
  t.equal((await ada.browser.visit(ada.returned)).status, 400, 'a code works once');
});

t.test('accounts of an OpenID Connect issuer belong to the user of their verified address', async (t) => {
  const { server, signIn } = openId;
  const first = await signIn('ada@example.com');
  const program = await first.browser.visit(first.returned, undefined, json);
  t.equal(program.status, 200);
  const { user, access_token } = JSON.parse(program.text) as { user: { id: string }; access_token: string };
  t.match(access_token, /^zes_/);
  const other = await signIn('ada@example.com|another account');
  const linked = JSON.parse((await other.browser.visit(other.returned, undefined, json)).text);
  t.equal(linked.user.id, user.id, 'a second account with the same verified address is the same user');
  const unverified = await signIn('new@example.com');
  t.match(await unverified.browser.visit(unverified.returned), { status: 403, text: /verified/ });
  for (const secret of [access_token, issuerSecret, 'code='])
    t.notOk(server.fullLog.includes(secret), 'the log contains no secret');
});

t.test('invalid callbacks and sign-in addresses are rejected', async (t) => {
  const { server, base, callback, issuer, signIn } = openId;
  const tampered = await signIn('eve@example.com');
  const wrongIssuer = tampered.returned.replace(/iss=[^&]+/, 'iss=https%3A%2F%2Fevil.example');
  t.equal((await tampered.browser.visit(wrongIssuer)).status, 400, 'a reply of another issuer is rejected');
  t.equal((await tampered.browser.visit(tampered.returned)).status, 400, 'a callback has one attempt');
  const denied = await signIn('eve@example.com');
  const state = new URL(denied.returned).searchParams.get('state')!;
  const denial = `${callback}?error=access_denied&state=${state}&iss=${encodeURIComponent(issuer)}`;
  t.equal((await denied.browser.visit(denial)).status, 400);
  const wrongCode = await signIn('eve@example.com');
  t.equal(
    (await wrongCode.browser.visit(wrongCode.returned.replace(/code=[^&]{6}/, 'code=xxxxxx'))).status,
    400,
  );
  for (const [path, status] of [
    ['unknown/login', 404],
    ['constructor/login', 404],
    ['github/login', 503],
    ['google/login?redirect_url=//evil.example', 400],
    ['google/auth', 422],
    ['google/auth?state=x', 400],
  ] as const)
    t.equal((await new FakeBrowser().visit(`${base}/api/auth/${path}`)).status, status, path);
  for (const secret of [issuerSecret, 'code='])
    t.notOk(server.fullLog.includes(secret), 'the log contains no secret');
});

t.test('a sign-in with GitHub fails with the reason', async (t) => {
  const { base, behavior, signIn } = gitHub;
  const options = await (await fetch(`${base}/api/auth/options`)).json();
  t.match(options, { google: false, github: true, mail: false, administrator: false });
  behavior.isVerified = false;
  t.equal((await signIn()).status, 403);
  Object.assign(behavior, { isVerified: true, isBroken: true });
  t.equal((await signIn()).status, 502);
  Object.assign(behavior, { isBroken: false, rejectsCode: true });
  t.equal((await signIn()).status, 400);
  behavior.rejectsCode = false;
  for (const invalidUser of [undefined, null, 'x', {}, 1.5]) {
    behavior.userId = invalidUser;
    t.equal((await signIn()).status, 502, `user without an ID: ${invalidUser}`);
  }
  behavior.userId = 4711;
  t.match(await signIn(), { status: 403, text: /invited/ }, 'a user without an invitation is rejected');
});

t.test('an invited user signs in with GitHub and joins the organization', async (t) => {
  const { server, base, behavior, signIn } = gitHub;
  const printed = /http:\S+verify\?token=\S+/.exec(server.printedText)?.[0] ?? '';
  const operator = JSON.parse((await new FakeBrowser().visit(printed, undefined, json)).text).access_token;
  const call = (path: string, token: string, body: object) =>
    sendRequest(`${base}/api/${path}`, { headers: { authorization: `Bearer ${token}` }, body });
  const [{ organization_id }] = (await call('users/get-user', operator, {})).body.organizations;
  const invite = async (email: string) => {
    const invitationRequest = { organization_id, email, permission: 'ADMIN' };
    return (await call('organizations/users/invite-user', operator, invitationRequest)).body
      .invite_code as string;
  };
  const codeForBob = await invite('bob@example.com');
  t.match(
    await signIn(`?invite_code=${codeForBob}`),
    { status: 403 },
    'the invitation of another address is rejected',
  );
  const invalidCode = `${base}/api/auth/github/login?invite_code=garbage`;
  t.equal((await new FakeBrowser().visit(invalidCode, undefined, json)).status, 404);
  const first = await signIn(`?invite_code=${await invite('ada@example.com')}`);
  t.match([first.status, JSON.parse(first.text)], [200, { user: { email: 'ada@example.com' } }]);
  const { access_token } = JSON.parse(first.text);
  const ada = (await call('users/get-user', access_token, {})).body;
  t.match(
    ada.organizations,
    [{ organization_id, permission: 'ADMIN' }],
    'the sign-in accepts the invitation',
  );
  t.same(ada.invitations, []);
  t.match(await call('organizations/add-organization', access_token, { name: 'Own' }), { status: 403 });
  t.match(
    await signIn(`?invite_code=${codeForBob}`),
    { status: 200 },
    'the invitation of another address has no effect on a known user',
  );
  behavior.isVerified = false;
  const later = await signIn();
  t.equal(
    JSON.parse(later.text).user.id,
    JSON.parse(first.text).user.id,
    'known users are identified by ID, not by address',
  );
});
