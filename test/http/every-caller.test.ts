import { randomUUID } from 'node:crypto';
import t, { type Test } from 'tap';
import { systemRandom } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { type Route, routes } from '../../src/http/routes.ts';
import type { AuditLogEntry } from '../../src/schemas/audit.ts';
import { openDataDirectory } from '../../src/storage/data-directory.ts';
import { type HttpReply, sendRequest } from '../e2e/people.ts';
import { testFileMsMax } from '../timeouts.ts';
import {
  buildTenantFixture,
  type CallerName,
  callerNames,
  fromNewHost,
  organizationInsiders,
  outsiders,
  type ResourceIds,
  randomResourceIds,
  type TenantFixture,
} from './tenant-fixture.ts';

/**
 * Calls every operation of the route table as every kind of caller. A new operation without an entry below fails
 * here: its author must list the permitted callers and the status for each of the others.
 */

t.setTimeout(testFileMsMax);

interface CallInput {
  readonly body?: unknown;
  readonly query?: string;
  readonly type?: string;
  /** Path parameters. */
  readonly parts?: Readonly<Record<string, string>>;
}

type Expected = Readonly<Record<CallerName, number>>;

interface OperationExpectation {
  readonly expected: Expected;
  readonly buildInput: (names: ResourceIds, fresh: string, fixture: TenantFixture) => CallInput;
  /** Creates the resource that a permitted call consumes. */
  readonly prepare?: (fixture: TenantFixture, fresh: string) => Promise<Partial<ResourceIds>>;
}

const unauthenticatedStatuses = {
  nobody: 401,
  garbage: 401,
  expired: 401,
  deleted: 401,
  'ended session': 401,
} as const;
const administratorStatuses = (status: number) => ({
  administrator: status,
  'administrator session': status,
});
const keyStatuses = (status: number) => ({
  read_only: status,
  all: status,
  neighbour: status,
  restricted: status,
});

/** For keys and members of the organization. `neighbor` is the status for a key of another organization. */
function readAccess(status: number, neighbor = 404): Expected {
  return {
    ...unauthenticatedStatuses,
    ...administratorStatuses(403),
    ...{ read_only: status, all: status, neighbour: neighbor, restricted: neighbor },
    ...{ MEMBER: status, ADMIN: status, OWNER: status, unnamed: 403, stranger: 404, 'from elsewhere': 403 },
  };
}

function writeAccess(status: number, neighbor = 404): Expected {
  return { ...readAccess(status, neighbor), read_only: 403 };
}

function administratorAccess(status: number): Expected {
  const people = { MEMBER: 403, ADMIN: 403, OWNER: 403, unnamed: 403, stranger: 403, 'from elsewhere': 403 };
  return { ...unauthenticatedStatuses, ...keyStatuses(403), ...people, ...administratorStatuses(status) };
}

/** For users, by their permission in the organization. */
function userAccess(owner: number, admin: number, member: number, stranger: number): Expected {
  const inside = { OWNER: owner, unnamed: owner, ADMIN: admin, MEMBER: member };
  return {
    ...unauthenticatedStatuses,
    ...keyStatuses(401),
    ...administratorStatuses(401),
    ...inside,
    stranger,
    'from elsewhere': 403,
  };
}

/** For every caller, whatever the credentials. */
function publicAccess(status: number): Expected {
  return Object.fromEntries(callerNames.map((name) => [name, status])) as Expected;
}

/** For every caller except cross-site requests of a browser. */
function sameOriginAccess(status: number): Expected {
  return { ...publicAccess(status), 'from elsewhere': 403 };
}

const inCollection =
  (more: object = {}) =>
  ({ collection_name }: ResourceIds): CallInput => ({ body: { collection_name, ...more } });
const ofDocument =
  (more: object = {}) =>
  ({ collection_name, path }: ResourceIds): CallInput => ({ body: { collection_name, path, ...more } });
const inOrganization =
  (more: object = {}) =>
  ({ organization_id }: ResourceIds): CallInput => ({ body: { organization_id, ...more } });
const ofKey =
  (more: object = {}) =>
  ({ organization_id, api_key_id }: ResourceIds): CallInput => ({
    body: { organization_id, api_key_id, ...more },
  });
const says =
  (body: object = {}) =>
  (): CallInput => ({ body });

const text = { type: 'text', text: 'New.' };
const always = { start_time: 0, end_time: 2_000_000_000, aggregation_window: 'daily' };
const used = ({ collection_name }: ResourceIds): CallInput => ({
  body: { ...always, collection_names: [collection_name] },
});

async function freshCollection(fixture: TenantFixture, fresh: string): Promise<Partial<ResourceIds>> {
  await fixture.askAsTenant('collections/add-collection', { collection_name: fresh });
  return { collection_name: fresh };
}

async function freshDocument(fixture: TenantFixture, fresh: string): Promise<Partial<ResourceIds>> {
  const { collection_name } = fixture.tenant;
  await fixture.askAsTenant('documents/add-document', { collection_name, path: fresh, content: text });
  return { path: fresh };
}

async function freshKey(
  { owner, tenant: north }: TenantFixture,
  fresh: string,
): Promise<Partial<ResourceIds>> {
  const { organization_id } = north;
  const expected = { organization_id, name: fresh, permission: 'all' };
  return { api_key_id: (await owner.call('organizations/api-keys/add-api-key', expected)).body.id };
}

async function freshOrganization({ server, headers }: TenantFixture): Promise<Partial<ResourceIds>> {
  const organization_id = randomUUID();
  const body = { organization_id };
  await sendRequest(`${server.url}/v1/admin/create-organization`, { headers: headers.administrator, body });
  return { organization_id };
}

async function freshInvitation(
  { owner, tenant: north }: TenantFixture,
  fresh: string,
): Promise<Partial<ResourceIds>> {
  const email = `${fresh}@example.com`;
  await owner.call('organizations/users/invite-user', { organization_id: north.organization_id, email });
  return { email };
}

/** Creates a user without an organization. */
async function freshUser({ newUser }: TenantFixture, fresh: string): Promise<Partial<ResourceIds>> {
  return { member_id: await newUser(fresh) };
}

const ofUser = ({ member_id: user_id }: ResourceIds): CallInput => ({ body: { user_id } });

const form = 'application/x-www-form-urlencoded';
const part = (name: string, value: string, file = '') =>
  `--b\r\ncontent-disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`;

const expectations: Readonly<Record<string, OperationExpectation>> = {
  'add-collection': {
    expected: { ...writeAccess(201, 201), restricted: 403 },
    buildInput: (_names, fresh) => ({ body: { collection_name: fresh } }),
  },
  'delete-collection': { expected: writeAccess(200), buildInput: inCollection(), prepare: freshCollection },
  'update-collection': { expected: writeAccess(200), buildInput: inCollection() },
  'change-model': { expected: writeAccess(409), buildInput: inCollection({ embedding_model: 'zembed-1' }) },
  'get-collection-list': { expected: readAccess(200, 200), buildInput: says() },
  'add-document': {
    expected: writeAccess(201),
    buildInput: ({ collection_name }, fresh) => ({ body: { collection_name, path: fresh, content: text } }),
  },
  'add-documents': {
    expected: writeAccess(200),
    buildInput: ({ collection_name }, fresh) => ({
      body: { collection_name, documents: [{ path: fresh, content: text }] },
    }),
  },
  'put-document': {
    expected: writeAccess(201),
    buildInput: ({ collection_name }, fresh) => ({
      parts: { collection: collection_name, '*': fresh },
      type: 'text/plain',
      body: 'New.',
    }),
  },
  'upload-document': {
    expected: writeAccess(201),
    buildInput: ({ collection_name }, fresh) => ({
      type: 'multipart/form-data; boundary=b',
      body: [
        part('collection_name', collection_name),
        part('path', fresh),
        part('file', 'New.', '; filename="new.txt"'),
        '--b--\r\n',
      ].join(''),
    }),
  },
  'update-document': { expected: writeAccess(200), buildInput: ofDocument() },
  'delete-document': { expected: writeAccess(200), buildInput: ofDocument(), prepare: freshDocument },
  'get-document-info': { expected: readAccess(200), buildInput: ofDocument({ include_content: true }) },
  'get-document-info-list': { expected: readAccess(200), buildInput: inCollection() },
  'get-page-info': {
    expected: readAccess(200),
    buildInput: ofDocument({ page_index: 0, include_content: true }),
  },
  'get-document': {
    expected: publicAccess(200),
    buildInput: (_names, _fresh, { fileToken }) => ({ query: `token=${fileToken}` }),
  },
  'get-page-image': {
    expected: publicAccess(404),
    buildInput: (_names, _fresh, { fileToken }) => ({ query: `token=${fileToken}` }),
  },
  'get-status': { expected: readAccess(200), buildInput: inCollection() },
  'top-documents': { expected: readAccess(200), buildInput: inCollection({ query: 'granite', k: 3 }) },
  'top-pages': { expected: readAccess(200), buildInput: inCollection({ query: 'granite', k: 3 }) },
  'top-snippets': {
    expected: readAccess(200),
    buildInput: inCollection({ query: 'granite', k: 3, explain: true }),
  },
  'get-model-list': { expected: readAccess(200, 200), buildInput: says() },
  embed: {
    expected: readAccess(200, 200),
    buildInput: says({ model: 'zembed-1', input_type: 'query', input: 'granite' }),
  },
  rerank: {
    expected: readAccess(200, 200),
    buildInput: says({ model: 'zerank-1', query: 'a', documents: ['b'] }),
  },
  embeddings: { expected: readAccess(200, 200), buildInput: says({ model: 'zembed-1', input: 'granite' }) },
  'cohere-rerank': {
    expected: readAccess(200, 200),
    buildInput: says({ model: 'zerank-1', query: 'a', documents: ['b'] }),
  },
  'parse-document': { expected: readAccess(200, 200), buildInput: says({ base64_data: 'eA==' }) },
  'usage-documents': { expected: readAccess(200), buildInput: used },
  'usage-queries': { expected: readAccess(200), buildInput: used },
  'usage-reranker': { expected: { ...readAccess(200, 200), restricted: 403 }, buildInput: says(always) },
  'usage-embed': { expected: { ...readAccess(200, 200), restricted: 403 }, buildInput: says(always) },
  'usage-models-counters': { expected: { ...readAccess(200, 200), restricted: 403 }, buildInput: says() },
  'usage-counters': { expected: readAccess(200, 200), buildInput: says() },

  'create-organization': {
    expected: administratorAccess(201),
    buildInput: () => ({ body: { organization_id: randomUUID() } }),
  },
  'list-organizations': { expected: administratorAccess(200), buildInput: says() },
  'get-organization': { expected: administratorAccess(200), buildInput: inOrganization() },
  'update-organization': { expected: administratorAccess(200), buildInput: inOrganization({ zdr: false }) },
  'add-api-key': {
    expected: administratorAccess(201),
    buildInput: inOrganization({ name: 'New', permission: 'all' }),
  },
  'list-api-keys': { expected: administratorAccess(200), buildInput: inOrganization() },
  'update-api-key': { expected: administratorAccess(200), buildInput: ofKey({ name: 'Renamed' }) },
  'delete-api-key': { expected: administratorAccess(200), buildInput: ofKey(), prepare: freshKey },
  'delete-any-organization': {
    expected: administratorAccess(200),
    buildInput: inOrganization(),
    prepare: freshOrganization,
  },
  'inspect-organization': { expected: administratorAccess(200), buildInput: inOrganization() },
  'list-users': { expected: administratorAccess(200), buildInput: says() },
  'end-user-sessions': { expected: administratorAccess(200), buildInput: ofUser, prepare: freshUser },
  'disable-user': { expected: administratorAccess(200), buildInput: ofUser, prepare: freshUser },
  'enable-user': { expected: administratorAccess(200), buildInput: ofUser, prepare: freshUser },
  'delete-user': { expected: administratorAccess(200), buildInput: ofUser, prepare: freshUser },
  'reset-second-factor': { expected: administratorAccess(200), buildInput: ofUser, prepare: freshUser },
  'get-administrator-second-factor': { expected: administratorAccess(200), buildInput: says() },
  'begin-administrator-second-factor': { expected: administratorAccess(200), buildInput: says() },
  'confirm-administrator-second-factor': {
    expected: administratorAccess(400),
    buildInput: says({ code: 'x' }),
  },
  'disable-administrator-second-factor': {
    expected: administratorAccess(400),
    buildInput: says({ code: 'x' }),
  },
  'get-any-audit-log': { expected: administratorAccess(200), buildInput: inOrganization() },

  'get-sign-in-options': { expected: publicAccess(200), buildInput: () => ({}) },
  'admin-login': {
    expected: sameOriginAccess(200),
    buildInput: (_names, _fresh, { password }) => ({ body: { password } }),
  },
  'send-magic-link': {
    expected: sameOriginAccess(200),
    buildInput: (_names, fresh) => ({ body: { email: `${fresh}@example.com` } }),
  },
  'verify-magic-link': {
    expected: publicAccess(400),
    buildInput: () => ({ query: `token=${'x'.repeat(43)}` }),
  },
  'confirm-magic-link': {
    expected: publicAccess(400),
    buildInput: () => ({ type: form, body: `token=${'x'.repeat(43)}&confirmation=x` }),
  },
  'begin-provider-login': {
    expected: publicAccess(503),
    buildInput: () => ({ parts: { provider: 'google' } }),
  },
  'finish-provider-login': {
    expected: publicAccess(503),
    buildInput: () => ({ parts: { provider: 'google' }, query: 'state=x&code=x' }),
  },
  'finish-second-factor': { expected: sameOriginAccess(400), buildInput: says({ code: '123456' }) },
  'login-link': { expected: sameOriginAccess(401), buildInput: says({ proof: 'x'.repeat(43) }) },

  'get-user': { expected: userAccess(200, 200, 200, 200), buildInput: says() },
  'edit-user': { expected: userAccess(200, 200, 200, 200), buildInput: says({ company: 'Any' }) },
  'delete-own-user': {
    expected: userAccess(400, 400, 400, 400),
    buildInput: says({ confirm_email: 'somebody.else@example.com' }),
  },
  'get-second-factor': { expected: userAccess(200, 200, 200, 200), buildInput: says() },
  'begin-second-factor': { expected: userAccess(200, 200, 200, 200), buildInput: says() },
  'confirm-second-factor': { expected: userAccess(400, 400, 400, 400), buildInput: says({ code: 'x' }) },
  'disable-second-factor': { expected: userAccess(400, 400, 400, 400), buildInput: says({ code: 'x' }) },
  'list-sessions': { expected: userAccess(200, 200, 200, 200), buildInput: says() },
  'revoke-session': {
    expected: userAccess(404, 404, 404, 404),
    buildInput: ({ owner_id: session_id }) => ({ body: { session_id } }),
  },
  'add-organization': { expected: userAccess(200, 200, 200, 200), buildInput: says({ name: 'Another' }) },
  'get-organization-info': { expected: userAccess(200, 200, 200, 404), buildInput: inOrganization() },
  'rename-organization': {
    expected: userAccess(200, 403, 403, 404),
    buildInput: inOrganization({ name: 'North Secret Ltd' }),
  },
  'delete-organization': {
    expected: userAccess(400, 403, 403, 404),
    buildInput: inOrganization({ confirm_name: 'not its name' }),
  },
  'get-audit-log': { expected: userAccess(200, 403, 403, 404), buildInput: inOrganization() },
  'invite-user': {
    expected: userAccess(200, 200, 200, 404),
    buildInput: ({ organization_id }, fresh) => ({
      body: { organization_id, email: `${fresh}@example.com` },
    }),
  },
  'accept-invite': { expected: userAccess(404, 404, 404, 404), buildInput: says({ invite_code: 'a.b.c' }) },
  'update-user': {
    expected: userAccess(200, 403, 403, 404),
    buildInput: ({ organization_id, member_id: user_id }) => ({
      body: { organization_id, user_id, permission: 'MEMBER' },
    }),
  },
  'remove-user': {
    expected: userAccess(400, 403, 403, 404),
    buildInput: ({ organization_id, owner_id: user_id }) => ({ body: { organization_id, user_id } }),
  },
  'delete-invite-user': {
    expected: userAccess(200, 403, 403, 404),
    buildInput: ({ organization_id, email }) => ({ body: { organization_id, email } }),
    prepare: freshInvitation,
  },
  'add-organization-api-key': {
    expected: userAccess(201, 201, 403, 404),
    buildInput: inOrganization({ name: 'New', permission: 'read_only' }),
  },
  'update-organization-api-key': {
    expected: userAccess(200, 200, 403, 404),
    buildInput: ofKey({ name: 'Renamed' }),
  },
  'delete-organization-api-key': {
    expected: userAccess(200, 200, 403, 404),
    buildInput: ofKey(),
    prepare: freshKey,
  },

  // Billing is disabled on this server: permitted callers get 503.
  'billing-status': { expected: userAccess(200, 200, 403, 404), buildInput: inOrganization() },
  'preview-subscription': {
    expected: userAccess(503, 403, 403, 404),
    buildInput: inOrganization({ tier: 'starter' }),
  },
  subscribe: { expected: userAccess(503, 403, 403, 404), buildInput: inOrganization({ tier: 'starter' }) },
  downgrade: { expected: userAccess(503, 403, 403, 404), buildInput: inOrganization({ tier: 'free' }) },
  'cancel-upgrade': { expected: userAccess(503, 403, 403, 404), buildInput: inOrganization() },
  'cancel-downgrade': { expected: userAccess(503, 403, 403, 404), buildInput: inOrganization() },
  'add-payment-method': { expected: userAccess(503, 403, 403, 404), buildInput: inOrganization() },
  'remove-payment-method': {
    expected: userAccess(503, 403, 403, 404),
    buildInput: inOrganization({ payment_method_id: 'pm_1' }),
  },
  'manage-billing-details': { expected: userAccess(503, 403, 403, 404), buildInput: inOrganization() },
  pause: { expected: userAccess(503, 403, 403, 404), buildInput: inOrganization() },
  'redeem-code': {
    expected: userAccess(503, 403, 403, 404),
    buildInput: inOrganization({ code: 'WELCOME' }),
  },
  'billing-webhook': { expected: publicAccess(503), buildInput: says() },
  'begin-aws-marketplace': {
    expected: publicAccess(503),
    buildInput: () => ({ type: form, body: 'x-amzn-marketplace-token=x' }),
  },
  'begin-vercel-marketplace': {
    expected: publicAccess(503),
    buildInput: () => ({ query: 'code=x&next=https%3A%2F%2Fvercel.com%2F' }),
  },
  'aws-marketplace-event': { expected: publicAccess(503), buildInput: says() },
  'vercel-marketplace-event': { expected: publicAccess(503), buildInput: says() },
  'get-marketplace-sign-up': {
    expected: userAccess(404, 404, 404, 404),
    buildInput: says({ sign_up: 'x'.repeat(43) }),
  },
  'bind-marketplace': {
    expected: userAccess(404, 403, 403, 404),
    buildInput: inOrganization({ sign_up: 'x'.repeat(43) }),
  },

  healthz: { expected: publicAccess(200), buildInput: () => ({}) },
  readyz: { expected: publicAccess(200), buildInput: () => ({}) },
  // The requests of this test pass through a proxy, so none of them counts as local.
  metrics: { expected: administratorAccess(200), buildInput: () => ({}) },
  openapi: { expected: publicAccess(200), buildInput: () => ({}) },
  'account-openapi': { expected: publicAccess(200), buildInput: () => ({}) },
  docs: { expected: publicAccess(200), buildInput: () => ({}) },
  dashboard: { expected: publicAccess(200), buildInput: () => ({}) },
  asset: { expected: publicAccess(404), buildInput: () => ({ parts: { file_path: 'nothing.js' } }) },
};

/** These operations end the session of the caller, so they run last; cross-site requests must be rejected. */
const sessionEndingOperations: Readonly<Record<string, OperationExpectation>> = {
  'admin-logout': { expected: sameOriginAccess(200), buildInput: says() },
  logout: { expected: sameOriginAccess(200), buildInput: says() },
};

const fixture = await buildTenantFixture(t);
let callCount = 0;

function address(route: Route, prefix: string, { parts = {}, query }: CallInput): string {
  const path = route.path.replace(/:(\w+)|\*/g, (name, word) =>
    encodeURIComponent(parts[word ?? name] ?? ''),
  );
  return `${fixture.server.url}${prefix}${path}${query === undefined ? '' : `?${query}`}`;
}

function request(
  route: Route,
  prefix: string,
  caller: CallerName,
  input: CallInput,
  names: ResourceIds,
): Promise<HttpReply> {
  const type = input.type ?? (input.body === undefined ? undefined : 'application/json');
  const own = fixture.headers[caller];
  const inside =
    own['x-quarry-organization'] === undefined ? {} : { 'x-quarry-organization': names.organization_id };
  return sendRequest(address(route, prefix, input), {
    method: route.method,
    headers: {
      ...(type === undefined ? {} : { 'content-type': type }),
      ...fromNewHost(),
      ...own,
      ...inside,
    },
    body: input.body,
  });
}

/** Reply without the parts that only repeat the request. */
function comparableReply({ status, headers, text: body }: HttpReply, names: ResourceIds): object {
  let plain = body;
  for (const [name, value] of Object.entries(names)) plain = plain.replaceAll(value, `<${name}>`);
  const shown = [...headers].filter(([name]) => !/^(x-request-id|date|content-length)$/.test(name));
  return { status, body: plain, headers: shown.sort() };
}

async function callAs(
  t: Test,
  route: Route,
  caller: CallerName,
  expectation: OperationExpectation,
): Promise<void> {
  const expected =
    route.kind === 'page' && /^\/(app)?$/.test(route.path) ? 302 : expectation.expected[caller];
  const title = `${route.method} ${route.path} as ${caller}`;
  for (const prefix of urlPrefixesFor(route, caller)) {
    callCount += 1;
    const fresh = `fresh-${callCount}`;
    const prepared = expected < 300 ? await expectation.prepare?.(fixture, fresh) : undefined;
    const names = { ...fixture.tenant, ...prepared };
    const input = expectation.buildInput(names, fresh, fixture);
    const answer = await request(route, prefix, caller, input, names);
    if (answer.status !== expected)
      t.fail(`${title}: ${answer.status} instead of ${expected}: ${answer.text}`);
    const isInside = organizationInsiders.has(caller);
    if ((!outsiders.has(caller) && !isInside) || isOpen(expectation)) continue;
    const sent = JSON.stringify([input, fixture.headers[caller]]);
    const markers = isInside ? fixture.collectionMarkers : fixture.tenantMarkers;
    const leaked = markers.filter((marker) => answer.text.includes(marker) && !sent.includes(marker));
    if (leaked.length > 0) t.fail(`${title} tells ${leaked.join(', ')}`);
    if (expected < 300 || !comparedCallers.has(caller)) continue;
    const random = randomResourceIds();
    const otherReply = await request(
      route,
      prefix,
      caller,
      expectation.buildInput(random, fresh, fixture),
      random,
    );
    comparisons.push({
      title,
      exists: comparableReply(answer, names),
      doesNot: comparableReply(otherReply, random),
    });
  }
}

/** Replies for resources that exist elsewhere, paired with replies for resources that do not exist. */
const comparisons: { readonly title: string; readonly exists: object; readonly doesNot: object }[] = [];

/** Both prefixes for the callers for which the prefix can make a difference. */
function urlPrefixesFor(route: Route, caller: CallerName): readonly string[] {
  if (!route.isVersioned) return [''];
  return caller === 'nobody' || caller === 'read_only' ? ['/v1', ''] : ['/v1'];
}

/** Authenticated callers without access: existing and absent resources must look the same to them. */
const comparedCallers: ReadonlySet<CallerName> = new Set([
  'neighbour',
  'restricted',
  'stranger',
  'from elsewhere',
  'deleted',
]);

function isOpen({ expected }: OperationExpectation): boolean {
  return new Set(Object.values(expected)).size === 1;
}

t.test('every operation has an entry in the expectation table, and vice versa', async (t) => {
  const operationNames = [...Object.keys(expectations), ...Object.keys(sessionEndingOperations)].sort();
  t.same(operationNames, [...new Set(routes.map(({ operation }) => operation as string))].sort());
});

t.test('members without key management see fewer details of keys', async (t) => {
  const { server, tenant: north, headers } = fixture;
  const { organization_id } = north;
  const shown = async (caller: CallerName): Promise<string[]> => {
    const address = `${server.url}/api/organizations/get-info`;
    const { body } = await sendRequest(address, { headers: headers[caller], body: { organization_id } });
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

t.test('without billing, every billing operation except status returns 503', async (t) => {
  const billing = routes.filter(({ path }) => path.startsWith('/api/billing/'));
  t.ok(billing.length > 10);
  for (const route of billing) {
    const input = expectations[route.operation]!.buildInput(fixture.tenant, 'fresh', fixture);
    const { status, body } = await request(route, '', 'OWNER', input, fixture.tenant);
    if (route.operation === 'billing-status')
      t.match(body, { billing_enabled: false, rate_limits: { bpm_fast: Number, bpm_slow: Number } });
    else
      t.match(
        { status, body },
        { status: 503, body: { detail: /Payments are disabled on this server \(QUARRY_STRIPE/ } },
      );
  }
});

for (const [operation, expectation] of [
  ...Object.entries(expectations),
  ...Object.entries(sessionEndingOperations),
]) {
  const ways = routes.filter((route) => route.operation === operation);
  t.test(
    `${operation}: each caller gets the expected status and learns nothing about other tenants`,
    async (t) => {
      for (const route of ways) for (const caller of callerNames) await callAs(t, route, caller, expectation);
      t.pass(`${callerNames.length} callers`);
    },
  );
}

t.test('resources of another organization return the same reply as missing ones', async (t) => {
  t.ok(comparisons.length > 200, `${comparisons.length} answers`);
  for (const { title, exists, doesNot } of comparisons)
    if (JSON.stringify(exists) !== JSON.stringify(doesNot)) t.same(exists, doesNot, title);
});

t.test('successful, failed and denied sign-ins are in the audit log', async (t) => {
  const { server, tenant: north, headers } = fixture;
  const log = async (whose: object): Promise<AuditLogEntry[]> => {
    const all: AuditLogEntry[] = [];
    for (let cursor: string | null = null, pages = 0; pages === 0 || cursor !== null; pages += 1) {
      const body = { ...whose, cursor, limit: 50 };
      const page = await sendRequest(`${server.url}/v1/admin/get-audit-log`, {
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
  const has = (entries: AuditLogEntry[], expected: Partial<AuditLogEntry>) =>
    entries.some((entry) => Object.entries(expected).every(([name, value]) => entry[name as 'at'] === value));
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
  const userOperations = [...installation, ...ours].filter(({ actor }) => actor !== 'system');
  const nowhere = userOperations.filter(({ address }) => !/^(10\.|127\.|::)/.test(address ?? ''));
  t.same(nowhere, [], 'everybody came from somewhere');
  const text = JSON.stringify([installation, ours]);
  for (const secret of fixture.secrets) t.notOk(text.includes(secret), 'and no secret');
});

t.test('no log line and no stored row contains a secret', async (t) => {
  const { server, secrets, password } = fixture;
  t.ok(secrets.every((secret) => typeof secret === 'string' && secret.length > 10));
  await server.stop();
  t.match(server.fullLog, /"msg":"mail sent"/);
  for (const secret of secrets) t.notOk(server.fullLog.includes(secret), 'the log');
  const data = await openDataDirectory({
    path: server.data,
    reserveBytes: 0,
    logger: silentLogger,
    random: systemRandom,
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
