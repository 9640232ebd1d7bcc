import { systemRandom } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import type { Route } from '../../src/http/routes/route.ts';
import { routes } from '../../src/http/routes/routes.ts';
import type { AuditLogEntry } from '../../src/schemas/audit.ts';
import { openDataDirectory } from '../../src/storage/data-directory.ts';
import { type HttpReply, sendRequest } from '../e2e/people.ts';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { type CallerName, callerNames, organizationInsiders, outsiders } from './callers.ts';
import type { CallInput } from './operations/inputs.ts';
import type { OperationTest } from './operations/operation-test.ts';
import { buildCallInput, operationTestOf, operationTests } from './operations/operation-tests.ts';
import { buildTenantFixture, fromNewHost, type ResourceIds, randomResourceIds } from './tenant-fixture.ts';

/**
 * Calls every operation of the route table as every kind of caller. A new operation without an entry in
 * `test/http/operations` fails here: its author must list the permitted callers and the status for each of the others.
 */

t.setTimeout(testFileMsMax);

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

async function callAs(t: Test, route: Route, caller: CallerName): Promise<void> {
  const operationTest = operationTestOf(route.operation);
  const expected =
    route.kind === 'page' && /^\/(app)?$/.test(route.path) ? 302 : operationTest.expected[caller];
  const title = `${route.method} ${route.path} as ${caller}`;
  for (const prefix of urlPrefixesFor(route, caller)) {
    callCount += 1;
    const fresh = `fresh-${callCount}`;
    const prepared = expected < 300 ? await operationTest.prepare?.(fixture, fresh) : undefined;
    const names = { ...fixture.tenant, ...prepared };
    const input = buildCallInput(route, names, fresh, fixture);
    const answer = await request(route, prefix, caller, input, names);
    if (answer.status !== expected)
      t.fail(`${title}: ${answer.status} instead of ${expected}: ${answer.text}`);
    const markers = hiddenMarkers(caller);
    if (markers.length === 0 || isOpen(operationTest)) continue;
    const sent = JSON.stringify([input, fixture.headers[caller]]);
    const leaked = markers.filter((marker) => answer.text.includes(marker) && !sent.includes(marker));
    if (leaked.length > 0) t.fail(`${title} reveals ${leaked.join(', ')}`);
    if (expected < 300 || !comparedCallers.has(caller)) continue;
    const absent = absentIds(caller);
    const otherInput = buildCallInput(route, absent, fresh, fixture);
    const otherReply = await request(route, prefix, caller, otherInput, absent);
    comparisons.push({
      title,
      exists: comparableReply(answer, names),
      doesNot: comparableReply(otherReply, absent),
    });
  }
}

/** Words that must not occur in replies to a caller. */
function hiddenMarkers(caller: CallerName): readonly string[] {
  if (outsiders.has(caller)) return fixture.tenantMarkers;
  if (organizationInsiders.has(caller)) return fixture.collectionMarkers;
  return caller === 'filtered' ? fixture.documentMarkers : [];
}

/** Ids of resources that do not exist. A key with a filter may see the collection, so only its document is absent. */
function absentIds(caller: CallerName): ResourceIds {
  const random = randomResourceIds();
  return caller === 'filtered' ? { ...fixture.tenant, path: random.path } : random;
}

/** Replies for resources that exist elsewhere, paired with replies for resources that do not exist. */
const comparisons: { readonly title: string; readonly exists: object; readonly doesNot: object }[] = [];

/** Both prefixes for the callers for which the prefix can make a difference. */
function urlPrefixesFor(route: Route, caller: CallerName): readonly string[] {
  if (!route.isVersioned) return [''];
  return caller === 'anonymous' || caller === 'read_only' ? ['/v1', ''] : ['/v1'];
}

/** Authenticated callers without access: existing and absent resources must look the same to them. */
const comparedCallers: ReadonlySet<CallerName> = new Set([
  'otherKey',
  'restricted',
  'filtered',
  'nonMember',
  'from elsewhere',
  'deleted',
]);

function isOpen({ expected }: OperationTest): boolean {
  return new Set(Object.values(expected)).size === 1;
}

t.test('every operation has an entry in test/http/operations, and vice versa', async (t) => {
  t.same(
    Object.keys(operationTests).sort(),
    [...new Set(routes.map(({ operation }) => operation as string))].sort(),
  );
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
    'without the last characters',
  );
});

t.test('without billing, every billing operation except status returns 503', async (t) => {
  const billing = routes.filter(({ path }) => path.startsWith('/api/billing/'));
  t.ok(billing.length > 10);
  for (const route of billing) {
    const input = buildCallInput(route, fixture.tenant, 'fresh', fixture);
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

/** Operations that end the session of their caller are last. */
const inCallOrder = Object.keys(operationTests).toSorted(
  (a, b) => Number(operationTestOf(a).endsSession ?? false) - Number(operationTestOf(b).endsSession ?? false),
);
for (const operation of inCallOrder) {
  const ways = routes.filter((route) => route.operation === operation);
  t.test(
    `${operation}: each caller gets the expected status and learns nothing about other tenants`,
    async (t) => {
      for (const route of ways) for (const caller of callerNames) await callAs(t, route, caller);
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
    'no valid key',
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
  t.same(nowhere, [], 'every entry has an address');
  const text = JSON.stringify([installation, ours]);
  for (const secret of fixture.secrets) t.notOk(text.includes(secret), 'no entry contains a secret');
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
