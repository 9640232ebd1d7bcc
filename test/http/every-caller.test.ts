import { randomUUID } from 'node:crypto';
import t, { type Test } from 'tap';
import { systemChance } from '../../src/base/ids.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { type Route, routes } from '../../src/http/routes.ts';
import type { AuditLogEntry } from '../../src/schemas/audit.ts';
import { openDataDirectory } from '../../src/store/data-directory.ts';
import { type Answer, send } from '../e2e/people.ts';
import { fileMsMax } from '../waiting.ts';
import {
  buildWorld,
  type CallerName,
  callerNames,
  fromAnywhere,
  insiders,
  type Names,
  outsiders,
  randomNames,
  type World,
} from './callers.ts';

/**
 * Every operation of the route table, asked by everybody who could ask it. A new operation without a line below fails
 * here: whoever adds one says who may call it, and what everybody else is told.
 */

t.setTimeout(fileMsMax);

interface Ask {
  readonly body?: unknown;
  readonly query?: string;
  readonly type?: string;
  /** Parts of the path. */
  readonly parts?: Readonly<Record<string, string>>;
}

type Expected = Readonly<Record<CallerName, number>>;

interface Line {
  readonly expected: Expected;
  readonly ask: (names: Names, fresh: string, world: World) => Ask;
  /** Makes what a caller who may is about to use up. */
  readonly prepare?: (world: World, fresh: string) => Promise<Partial<Names>>;
}

const unknown = { nobody: 401, garbage: 401, expired: 401, deleted: 401, 'ended session': 401 } as const;
const administrators = (status: number) => ({ administrator: status, 'administrator session': status });
const keys = (status: number) => ({ read_only: status, all: status, neighbour: status, restricted: status });

/** For an organisation's keys and members. `neighbour`: to another organisation's key. */
function reads(status: number, neighbour = 404): Expected {
  return {
    ...unknown,
    ...administrators(403),
    ...{ read_only: status, all: status, neighbour, restricted: neighbour },
    ...{ MEMBER: status, ADMIN: status, OWNER: status, unnamed: 403, stranger: 404, 'from elsewhere': 403 },
  };
}

function writes(status: number, neighbour = 404): Expected {
  return { ...reads(status, neighbour), read_only: 403 };
}

function administers(status: number): Expected {
  const people = { MEMBER: 403, ADMIN: 403, OWNER: 403, unnamed: 403, stranger: 403, 'from elsewhere': 403 };
  return { ...unknown, ...keys(403), ...people, ...administrators(status) };
}

/** For people, by what they are in the organisation. */
function people(owner: number, admin: number, member: number, stranger: number): Expected {
  const inside = { OWNER: owner, unnamed: owner, ADMIN: admin, MEMBER: member };
  return { ...unknown, ...keys(401), ...administrators(401), ...inside, stranger, 'from elsewhere': 403 };
}

/** For everybody, whatever they send along. */
function open(status: number): Expected {
  return Object.fromEntries(callerNames.map((name) => [name, status])) as Expected;
}

/** For everybody but what another site makes a browser send. */
function fromOwnPages(status: number): Expected {
  return { ...open(status), 'from elsewhere': 403 };
}

const inCollection =
  (more: object = {}) =>
  ({ collection_name }: Names): Ask => ({ body: { collection_name, ...more } });
const ofDocument =
  (more: object = {}) =>
  ({ collection_name, path }: Names): Ask => ({ body: { collection_name, path, ...more } });
const inOrganisation =
  (more: object = {}) =>
  ({ organization_id }: Names): Ask => ({ body: { organization_id, ...more } });
const ofKey =
  (more: object = {}) =>
  ({ organization_id, api_key_id }: Names): Ask => ({ body: { organization_id, api_key_id, ...more } });
const says =
  (body: object = {}) =>
  (): Ask => ({ body });

const text = { type: 'text', text: 'New.' };
const always = { start_time: 0, end_time: 2_000_000_000, aggregation_window: 'daily' };
const used = ({ collection_name }: Names): Ask => ({
  body: { ...always, collection_names: [collection_name] },
});

async function freshCollection(world: World, fresh: string): Promise<Partial<Names>> {
  await world.ask('collections/add-collection', { collection_name: fresh });
  return { collection_name: fresh };
}

async function freshDocument(world: World, fresh: string): Promise<Partial<Names>> {
  const { collection_name } = world.north;
  await world.ask('documents/add-document', { collection_name, path: fresh, content: text });
  return { path: fresh };
}

async function freshKey({ owner, north }: World, fresh: string): Promise<Partial<Names>> {
  const { organization_id } = north;
  const wanted = { organization_id, name: fresh, permission: 'all' };
  return { api_key_id: (await owner.call('organizations/api-keys/add-api-key', wanted)).body.id };
}

async function freshOrganisation({ server, headers }: World): Promise<Partial<Names>> {
  const organization_id = randomUUID();
  const body = { organization_id };
  await send(`${server.url}/v1/admin/create-organization`, { headers: headers.administrator, body });
  return { organization_id };
}

async function freshInvitation({ owner, north }: World, fresh: string): Promise<Partial<Names>> {
  const email = `${fresh}@example.com`;
  await owner.call('organizations/users/invite-user', { organization_id: north.organization_id, email });
  return { email };
}

/** Somebody who belongs to no organization. */
async function freshUser({ newUser }: World, fresh: string): Promise<Partial<Names>> {
  return { member_id: await newUser(fresh) };
}

const ofUser = ({ member_id: user_id }: Names): Ask => ({ body: { user_id } });

const form = 'application/x-www-form-urlencoded';
const part = (name: string, value: string, file = '') =>
  `--b\r\ncontent-disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`;

const expectations: Readonly<Record<string, Line>> = {
  'add-collection': {
    expected: { ...writes(201, 201), restricted: 403 },
    ask: (_names, fresh) => ({ body: { collection_name: fresh } }),
  },
  'delete-collection': { expected: writes(200), ask: inCollection(), prepare: freshCollection },
  'update-collection': { expected: writes(200), ask: inCollection() },
  'change-model': { expected: writes(409), ask: inCollection({ embedding_model: 'zembed-1' }) },
  'get-collection-list': { expected: reads(200, 200), ask: says() },
  'add-document': {
    expected: writes(201),
    ask: ({ collection_name }, fresh) => ({ body: { collection_name, path: fresh, content: text } }),
  },
  'add-documents': {
    expected: writes(200),
    ask: ({ collection_name }, fresh) => ({
      body: { collection_name, documents: [{ path: fresh, content: text }] },
    }),
  },
  'put-document': {
    expected: writes(201),
    ask: ({ collection_name }, fresh) => ({
      parts: { collection: collection_name, '*': fresh },
      type: 'text/plain',
      body: 'New.',
    }),
  },
  'upload-document': {
    expected: writes(201),
    ask: ({ collection_name }, fresh) => ({
      type: 'multipart/form-data; boundary=b',
      body: [
        part('collection_name', collection_name),
        part('path', fresh),
        part('file', 'New.', '; filename="new.txt"'),
        '--b--\r\n',
      ].join(''),
    }),
  },
  'update-document': { expected: writes(200), ask: ofDocument() },
  'delete-document': { expected: writes(200), ask: ofDocument(), prepare: freshDocument },
  'get-document-info': { expected: reads(200), ask: ofDocument({ include_content: true }) },
  'get-document-info-list': { expected: reads(200), ask: inCollection() },
  'get-page-info': { expected: reads(200), ask: ofDocument({ page_index: 0, include_content: true }) },
  'get-document': {
    expected: open(200),
    ask: (_names, _fresh, { fileToken }) => ({ query: `token=${fileToken}` }),
  },
  'get-page-image': {
    expected: open(404),
    ask: (_names, _fresh, { fileToken }) => ({ query: `token=${fileToken}` }),
  },
  'get-status': { expected: reads(200), ask: inCollection() },
  'top-documents': { expected: reads(200), ask: inCollection({ query: 'granite', k: 3 }) },
  'top-pages': { expected: reads(200), ask: inCollection({ query: 'granite', k: 3 }) },
  'top-snippets': { expected: reads(200), ask: inCollection({ query: 'granite', k: 3, explain: true }) },
  'get-model-list': { expected: reads(200, 200), ask: says() },
  embed: {
    expected: reads(200, 200),
    ask: says({ model: 'zembed-1', input_type: 'query', input: 'granite' }),
  },
  rerank: { expected: reads(200, 200), ask: says({ model: 'zerank-1', query: 'a', documents: ['b'] }) },
  embeddings: { expected: reads(200, 200), ask: says({ model: 'zembed-1', input: 'granite' }) },
  'cohere-rerank': {
    expected: reads(200, 200),
    ask: says({ model: 'zerank-1', query: 'a', documents: ['b'] }),
  },
  'parse-document': { expected: reads(200, 200), ask: says({ base64_data: 'eA==' }) },
  'usage-documents': { expected: reads(200), ask: used },
  'usage-queries': { expected: reads(200), ask: used },
  'usage-reranker': { expected: { ...reads(200, 200), restricted: 403 }, ask: says(always) },
  'usage-embed': { expected: { ...reads(200, 200), restricted: 403 }, ask: says(always) },
  'usage-models-counters': { expected: { ...reads(200, 200), restricted: 403 }, ask: says() },
  'usage-counters': { expected: reads(200, 200), ask: says() },

  'create-organization': {
    expected: administers(201),
    ask: () => ({ body: { organization_id: randomUUID() } }),
  },
  'list-organizations': { expected: administers(200), ask: says() },
  'get-organization': { expected: administers(200), ask: inOrganisation() },
  'update-organization': { expected: administers(200), ask: inOrganisation({ zdr: false }) },
  'add-api-key': { expected: administers(201), ask: inOrganisation({ name: 'New', permission: 'all' }) },
  'list-api-keys': { expected: administers(200), ask: inOrganisation() },
  'update-api-key': { expected: administers(200), ask: ofKey({ name: 'Renamed' }) },
  'delete-api-key': { expected: administers(200), ask: ofKey(), prepare: freshKey },
  'delete-any-organization': {
    expected: administers(200),
    ask: inOrganisation(),
    prepare: freshOrganisation,
  },
  'inspect-organization': { expected: administers(200), ask: inOrganisation() },
  'list-users': { expected: administers(200), ask: says() },
  'end-user-sessions': { expected: administers(200), ask: ofUser, prepare: freshUser },
  'disable-user': { expected: administers(200), ask: ofUser, prepare: freshUser },
  'enable-user': { expected: administers(200), ask: ofUser, prepare: freshUser },
  'delete-user': { expected: administers(200), ask: ofUser, prepare: freshUser },
  'reset-second-factor': { expected: administers(200), ask: ofUser, prepare: freshUser },
  'get-administrator-second-factor': { expected: administers(200), ask: says() },
  'begin-administrator-second-factor': { expected: administers(200), ask: says() },
  'confirm-administrator-second-factor': { expected: administers(400), ask: says({ code: 'x' }) },
  'disable-administrator-second-factor': { expected: administers(400), ask: says({ code: 'x' }) },
  'get-any-audit-log': { expected: administers(200), ask: inOrganisation() },

  'get-sign-in-options': { expected: open(200), ask: () => ({}) },
  'admin-login': {
    expected: fromOwnPages(200),
    ask: (_names, _fresh, { password }) => ({ body: { password } }),
  },
  'send-magic-link': {
    expected: fromOwnPages(200),
    ask: (_names, fresh) => ({ body: { email: `${fresh}@example.com` } }),
  },
  'verify-magic-link': { expected: open(400), ask: () => ({ query: `token=${'x'.repeat(43)}` }) },
  'confirm-magic-link': {
    expected: open(400),
    ask: () => ({ type: form, body: `token=${'x'.repeat(43)}&confirmation=x` }),
  },
  'begin-provider-login': { expected: open(503), ask: () => ({ parts: { provider: 'google' } }) },
  'finish-provider-login': {
    expected: open(503),
    ask: () => ({ parts: { provider: 'google' }, query: 'state=x&code=x' }),
  },
  'finish-second-factor': { expected: fromOwnPages(400), ask: says({ code: '123456' }) },
  'login-link': { expected: fromOwnPages(401), ask: says({ proof: 'x'.repeat(43) }) },

  'get-user': { expected: people(200, 200, 200, 200), ask: says() },
  'edit-user': { expected: people(200, 200, 200, 200), ask: says({ company: 'Any' }) },
  'delete-own-user': {
    expected: people(400, 400, 400, 400),
    ask: says({ confirm_email: 'somebody.else@example.com' }),
  },
  'get-second-factor': { expected: people(200, 200, 200, 200), ask: says() },
  'begin-second-factor': { expected: people(200, 200, 200, 200), ask: says() },
  'confirm-second-factor': { expected: people(400, 400, 400, 400), ask: says({ code: 'x' }) },
  'disable-second-factor': { expected: people(400, 400, 400, 400), ask: says({ code: 'x' }) },
  'list-sessions': { expected: people(200, 200, 200, 200), ask: says() },
  'revoke-session': {
    expected: people(404, 404, 404, 404),
    ask: ({ owner_id: session_id }) => ({ body: { session_id } }),
  },
  'add-organization': { expected: people(200, 200, 200, 200), ask: says({ name: 'Another' }) },
  'get-organization-info': { expected: people(200, 200, 200, 404), ask: inOrganisation() },
  'rename-organization': {
    expected: people(200, 403, 403, 404),
    ask: inOrganisation({ name: 'North Secret Ltd' }),
  },
  'delete-organization': {
    expected: people(400, 403, 403, 404),
    ask: inOrganisation({ confirm_name: 'not its name' }),
  },
  'get-audit-log': { expected: people(200, 403, 403, 404), ask: inOrganisation() },
  'invite-user': {
    expected: people(200, 200, 200, 404),
    ask: ({ organization_id }, fresh) => ({ body: { organization_id, email: `${fresh}@example.com` } }),
  },
  'accept-invite': { expected: people(404, 404, 404, 404), ask: says({ invite_code: 'a.b.c' }) },
  'update-user': {
    expected: people(200, 403, 403, 404),
    ask: ({ organization_id, member_id: user_id }) => ({
      body: { organization_id, user_id, permission: 'MEMBER' },
    }),
  },
  'remove-user': {
    expected: people(400, 403, 403, 404),
    ask: ({ organization_id, owner_id: user_id }) => ({ body: { organization_id, user_id } }),
  },
  'delete-invite-user': {
    expected: people(200, 403, 403, 404),
    ask: ({ organization_id, email }) => ({ body: { organization_id, email } }),
    prepare: freshInvitation,
  },
  'add-organization-api-key': {
    expected: people(201, 201, 403, 404),
    ask: inOrganisation({ name: 'New', permission: 'read_only' }),
  },
  'update-organization-api-key': { expected: people(200, 200, 403, 404), ask: ofKey({ name: 'Renamed' }) },
  'delete-organization-api-key': { expected: people(200, 200, 403, 404), ask: ofKey(), prepare: freshKey },

  // Nobody pays here: whoever may ask is told so.
  'billing-status': { expected: people(200, 200, 403, 404), ask: inOrganisation() },
  'preview-subscription': { expected: people(503, 403, 403, 404), ask: inOrganisation({ tier: 'starter' }) },
  subscribe: { expected: people(503, 403, 403, 404), ask: inOrganisation({ tier: 'starter' }) },
  downgrade: { expected: people(503, 403, 403, 404), ask: inOrganisation({ tier: 'free' }) },
  'cancel-upgrade': { expected: people(503, 403, 403, 404), ask: inOrganisation() },
  'cancel-downgrade': { expected: people(503, 403, 403, 404), ask: inOrganisation() },
  'add-payment-method': { expected: people(503, 403, 403, 404), ask: inOrganisation() },
  'remove-payment-method': {
    expected: people(503, 403, 403, 404),
    ask: inOrganisation({ payment_method_id: 'pm_1' }),
  },
  'manage-billing-details': { expected: people(503, 403, 403, 404), ask: inOrganisation() },
  pause: { expected: people(503, 403, 403, 404), ask: inOrganisation() },
  'redeem-code': { expected: people(503, 403, 403, 404), ask: inOrganisation({ code: 'WELCOME' }) },
  'billing-webhook': { expected: open(503), ask: says() },
  'begin-aws-marketplace': {
    expected: open(503),
    ask: () => ({ type: form, body: 'x-amzn-marketplace-token=x' }),
  },
  'begin-vercel-marketplace': {
    expected: open(503),
    ask: () => ({ query: 'code=x&next=https%3A%2F%2Fvercel.com%2F' }),
  },
  'aws-marketplace-event': { expected: open(503), ask: says() },
  'vercel-marketplace-event': { expected: open(503), ask: says() },
  'get-marketplace-sign-up': {
    expected: people(404, 404, 404, 404),
    ask: says({ sign_up: 'x'.repeat(43) }),
  },
  'bind-marketplace': {
    expected: people(404, 403, 403, 404),
    ask: inOrganisation({ sign_up: 'x'.repeat(43) }),
  },

  healthz: { expected: open(200), ask: () => ({}) },
  readyz: { expected: open(200), ask: () => ({}) },
  // The requests of this test pass a proxy, so none of them is the machine itself.
  metrics: { expected: administers(200), ask: () => ({}) },
  openapi: { expected: open(200), ask: () => ({}) },
  'account-openapi': { expected: open(200), ask: () => ({}) },
  docs: { expected: open(200), ask: () => ({}) },
  dashboard: { expected: open(200), ask: () => ({}) },
  asset: { expected: open(404), ask: () => ({ parts: { file_path: 'nothing.js' } }) },
};

/** These end the session of whoever asks, so they come last; somebody else's page may not ask them to. */
const endings: Readonly<Record<string, Line>> = {
  'admin-logout': { expected: fromOwnPages(200), ask: says() },
  logout: { expected: fromOwnPages(200), ask: says() },
};

const world = await buildWorld(t);
let made = 0;

function address(route: Route, prefix: string, { parts = {}, query }: Ask): string {
  const path = route.path.replace(/:(\w+)|\*/g, (name, word) =>
    encodeURIComponent(parts[word ?? name] ?? ''),
  );
  return `${world.server.url}${prefix}${path}${query === undefined ? '' : `?${query}`}`;
}

function request(
  route: Route,
  prefix: string,
  caller: CallerName,
  asked: Ask,
  names: Names,
): Promise<Answer> {
  const type = asked.type ?? (asked.body === undefined ? undefined : 'application/json');
  const own = world.headers[caller];
  const inside =
    own['x-quarry-organization'] === undefined ? {} : { 'x-quarry-organization': names.organization_id };
  return send(address(route, prefix, asked), {
    method: route.method,
    headers: {
      ...(type === undefined ? {} : { 'content-type': type }),
      ...fromAnywhere(),
      ...own,
      ...inside,
    },
    body: asked.body,
  });
}

/** What an answer says, without what it only repeats of the request. */
function said({ status, headers, text: body }: Answer, names: Names): object {
  let plain = body;
  for (const [name, value] of Object.entries(names)) plain = plain.replaceAll(value, `<${name}>`);
  const shown = [...headers].filter(([name]) => !/^(x-request-id|date|content-length)$/.test(name));
  return { status, body: plain, headers: shown.sort() };
}

async function askAs(t: Test, route: Route, caller: CallerName, line: Line): Promise<void> {
  const expected = route.kind === 'page' && /^\/(app)?$/.test(route.path) ? 302 : line.expected[caller];
  const title = `${route.method} ${route.path} as ${caller}`;
  for (const prefix of prefixesFor(route, caller)) {
    made += 1;
    const fresh = `fresh-${made}`;
    const prepared = expected < 300 ? await line.prepare?.(world, fresh) : undefined;
    const names = { ...world.north, ...prepared };
    const asked = line.ask(names, fresh, world);
    const answer = await request(route, prefix, caller, asked, names);
    if (answer.status !== expected)
      t.fail(`${title}: ${answer.status} instead of ${expected}: ${answer.text}`);
    const isInside = insiders.has(caller);
    if ((!outsiders.has(caller) && !isInside) || isOpen(line)) continue;
    const sent = JSON.stringify([asked, world.headers[caller]]);
    const marks = isInside ? world.collectionMarks : world.marks;
    const leaked = marks.filter((mark) => answer.text.includes(mark) && !sent.includes(mark));
    if (leaked.length > 0) t.fail(`${title} tells ${leaked.join(', ')}`);
    if (expected < 300 || !knownElsewhere.has(caller)) continue;
    const random = randomNames();
    const twin = await request(route, prefix, caller, line.ask(random, fresh, world), random);
    twins.push({ title, exists: said(answer, names), doesNot: said(twin, random) });
  }
}

/** What was answered of what exists elsewhere, and of what does not exist. */
const twins: { readonly title: string; readonly exists: object; readonly doesNot: object }[] = [];

/** Under both, where it can matter who asks. */
function prefixesFor(route: Route, caller: CallerName): readonly string[] {
  if (!route.versioned) return [''];
  return caller === 'nobody' || caller === 'read_only' ? ['/v1', ''] : ['/v1'];
}

/** Who is let in, but not here: for them what exists must look like what does not. */
const knownElsewhere: ReadonlySet<CallerName> = new Set([
  'neighbour',
  'restricted',
  'stranger',
  'from elsewhere',
  'deleted',
]);

function isOpen({ expected }: Line): boolean {
  return new Set(Object.values(expected)).size === 1;
}

t.test('every operation has a line here, and every line an operation', async (t) => {
  const lines = [...Object.keys(expectations), ...Object.keys(endings)].sort();
  t.same(lines, [...new Set(routes.map(({ operation }) => operation as string))].sort());
});

t.test('who may not manage keys sees less of them', async (t) => {
  const { server, north, headers } = world;
  const { organization_id } = north;
  const shown = async (caller: CallerName): Promise<string[]> => {
    const address = `${server.url}/api/organizations/get-info`;
    const { body } = await send(address, { headers: headers[caller], body: { organization_id } });
    return body.api_keys.map(({ api_key }: { api_key: string }) => api_key);
  };
  const [owner, member] = [await shown('OWNER'), await shown('MEMBER')];
  t.ok(owner.length > 0 && owner.every((key) => /^ze_\w{4}…\w{4}$/.test(key)));
  t.same(
    member,
    owner.map((key) => key.slice(0, 8)),
    'without the end',
  );
});

t.test('where nobody pays, all of billing but status says so in a sentence', async (t) => {
  const billing = routes.filter(({ path }) => path.startsWith('/api/billing/'));
  t.ok(billing.length > 10);
  for (const route of billing) {
    const asked = expectations[route.operation]!.ask(world.north, 'fresh', world);
    const { status, body } = await request(route, '', 'OWNER', asked, world.north);
    if (route.operation === 'billing-status')
      t.match(body, { billing_enabled: false, rate_limits: { bpm_fast: Number, bpm_slow: Number } });
    else t.match({ status, body }, { status: 503, body: { detail: /takes no payments \(QUARRY_STRIPE/ } });
  }
});

for (const [operation, line] of [...Object.entries(expectations), ...Object.entries(endings)]) {
  const ways = routes.filter((route) => route.operation === operation);
  t.test(`${operation}: everybody gets what they may, and nobody learns of another`, async (t) => {
    for (const route of ways) for (const caller of callerNames) await askAs(t, route, caller, line);
    t.pass(`${callerNames.length} callers`);
  });
}

t.test('what another organisation has answers as what does not exist, word for word', async (t) => {
  t.ok(twins.length > 200, `${twins.length} answers`);
  for (const { title, exists, doesNot } of twins)
    if (JSON.stringify(exists) !== JSON.stringify(doesNot)) t.same(exists, doesNot, title);
});

t.test('who signed in, who failed to and who was refused stands in the audit log', async (t) => {
  const { server, north, headers } = world;
  const log = async (whose: object): Promise<AuditLogEntry[]> => {
    const all: AuditLogEntry[] = [];
    for (let cursor: string | null = null, pages = 0; pages === 0 || cursor !== null; pages += 1) {
      const body = { ...whose, cursor, limit: 50 };
      const page = await send(`${server.url}/v1/admin/get-audit-log`, {
        body,
        headers: headers.administrator,
      });
      all.push(...page.body.entries);
      cursor = page.body.next_cursor;
    }
    t.equal(new Set(all.map(({ id }) => id)).size, all.length, 'no page repeats an entry');
    const times = all.map(({ at }) => at);
    t.same(times, times.toSorted().reverse(), 'newest first');
    return all;
  };
  const installation = await log({});
  const ours = await log({ organization_id: north.organization_id });
  const has = (entries: AuditLogEntry[], wanted: Partial<AuditLogEntry>) =>
    entries.some((entry) => Object.entries(wanted).every(([name, value]) => entry[name as 'at'] === value));
  for (const action of ['user.login', 'magic_link.sent', 'sign_in.failed', 'session.ended'])
    t.ok(has(installation, { action }), action);
  for (const action of ['admin.login', 'admin.logout'])
    t.ok(has(installation, { action, actor: 'administrator' }), action);
  t.ok(
    has(installation, { action: 'access.denied', actor: null, target: 'collections/add-collection' }),
    'no good key',
  );
  t.ok(
    has(ours, {
      action: 'access.denied',
      actor: north.member_id,
      target: 'api/organizations/update-organization',
    }),
  );
  t.ok(
    has(ours, {
      action: 'access.denied',
      target: 'documents/add-document',
      actor: `key:${north.api_key_id}`,
    }),
  );
  t.ok(has(ours, { action: 'organization.updated', actor: 'administrator' }));
  const byPeople = [...installation, ...ours].filter(({ actor }) => actor !== 'system');
  const nowhere = byPeople.filter(({ address }) => !/^(10\.|127\.|::)/.test(address ?? ''));
  t.same(nowhere, [], 'everybody came from somewhere');
  const text = JSON.stringify([installation, ours]);
  for (const secret of world.secrets) t.notOk(text.includes(secret), 'and no secret');
});

t.test('after all of that no line of the log and no row of the store holds a secret', async (t) => {
  const { server, secrets, password } = world;
  t.ok(secrets.every((secret) => typeof secret === 'string' && secret.length > 10));
  await server.stop();
  t.match(server.wholeLog, /"msg":"mail sent"/);
  for (const secret of secrets) t.notOk(server.wholeLog.includes(secret), 'the log');
  const data = await openDataDirectory({
    path: server.data,
    reserveBytes: 0,
    logger: silentLogger,
    chance: systemChance,
  });
  t.teardown(() => data.close());
  let rows = 0;
  const found = new Set<string>();
  for await (const { key, value } of data.store.range({})) {
    rows += 1;
    const row = Buffer.concat([key, value]).toString('latin1');
    for (const secret of secrets) if (row.includes(secret)) found.add(secret);
  }
  t.ok(rows > 500, `${rows} rows`);
  t.same([...found], []);
  t.ok(secrets.includes(password));
});
