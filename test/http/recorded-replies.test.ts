import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/core/root.ts';
import type { Route } from '../../src/http/routes/route.ts';
import { routes } from '../../src/http/routes/routes.ts';
import { sendRequest } from '../e2e/people.ts';
import { createTenant } from '../e2e/tenant.ts';
import t from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import type { CallerName } from './callers.ts';
import { buildCallInput, operationTestOf } from './operations/operation-tests.ts';
import { recordBilling } from './recorded-billing.ts';
import { type RecordedReply, toRecordedReply, withSortedLists } from './recorded-reply.ts';
import { clientRequests, type SampleRequest } from './recorded-requests.ts';
import { buildTenantFixture, fromNewHost, type ResourceIds, type TenantFixture } from './tenant-fixture.ts';

/**
 * The replies of all operations, byte for byte apart from ids, times, keys and error texts.
 * `RECORDED_REPLIES=write node dist/test/http/recorded-replies.test.js` records them again. A reply may only gain
 * fields: existing clients depend on the others.
 */

t.setTimeout(testFileMsMax);

const file = join(projectRoot, 'test', 'http', 'recorded-replies.jsonl');

/** The first of them that has access makes the call. */
const callers: readonly CallerName[] = ['all', 'OWNER', 'administrator', 'anonymous'];

function callerOf(operation: string): CallerName {
  const { expected } = operationTestOf(operation);
  return callers.find((caller) => ![401, 403].includes(expected[caller])) ?? 'anonymous';
}

/** Later replies must not depend on the progress of documents that were added without waiting. */
async function waitUntilProcessed(
  ask: (path: string, body: object) => Promise<{ body: unknown }>,
): Promise<void> {
  await waitUntil('the end of processing', async () => {
    const { body } = await ask('status/get-status', {});
    const status = body as { num_parsing_documents: number; num_indexing_documents: number };
    return status.num_parsing_documents === 0 && status.num_indexing_documents === 0;
  });
}

async function recordClient(fixture: TenantFixture): Promise<RecordedReply[]> {
  const { server } = fixture;
  const { key, organization_id, api } = await createTenant(server);
  const known = { [server.url]: 'server', [organization_id]: 'organization_id' };
  const send = ({ path, method, body, headers, isAnonymous = false }: SampleRequest) =>
    sendRequest(server.url + path, {
      method: method ?? 'POST',
      headers: { ...(isAnonymous ? {} : { authorization: `Bearer ${key}` }), ...headers },
      body,
    });
  const replies: RecordedReply[] = [];
  for (const request of clientRequests) {
    const text = typeof request.body === 'object' ? ` ${JSON.stringify(request.body)}` : '';
    const line = `${request.method ?? 'POST'} ${request.path}${text}`;
    replies.push(toRecordedReply(line, await send(request), known));
    await waitUntilProcessed((path, body) => api.request(path, body));
  }
  return replies;
}

async function recordRoute(fixture: TenantFixture, route: Route): Promise<RecordedReply> {
  const { prepare, recording } = operationTestOf(route.operation);
  const caller = callerOf(route.operation);
  const fresh = `fresh-${route.operation}`;
  const names: ResourceIds = { ...fixture.tenant, ...(await prepare?.(fixture, fresh)) };
  await waitUntilProcessed(fixture.askAsTenant);
  const { body, query, type, parts = {} } = buildCallInput(route, names, fresh, fixture);
  const path = route.path.replace(/:(\w+)|\*/g, (name, word) =>
    encodeURIComponent(parts[word ?? name] ?? ''),
  );
  const address = `${fixture.server.url}${route.isVersioned ? '/v1' : ''}${path}`;
  const reply = await sendRequest(query === undefined ? address : `${address}?${query}`, {
    method: route.method,
    headers: {
      ...(type === undefined ? {} : { 'content-type': type }),
      ...fromNewHost(),
      ...fixture.headers[caller],
    },
    body,
  });
  const known = Object.fromEntries(Object.entries(names).map(([name, value]) => [value, name]));
  const title = `${route.method} ${route.isVersioned ? '/v1' : ''}${route.path} as ${caller}`;
  const text =
    // The stored rows of an organization depend on the time of background work.
    route.operation === 'inspect-organization'
      ? reply.text.replace(/"remains":\[[^\]]*\]/, '"remains":"<rows>"')
      : reply.text;
  const recorded = toRecordedReply(title, { ...reply, text }, { ...known, [fixture.server.url]: 'server' });
  return recording === 'sorted' ? withSortedLists(recorded) : recorded;
}

async function recordRoutes(fixture: TenantFixture): Promise<RecordedReply[]> {
  const recorded = routes.filter(({ operation }) => operationTestOf(operation).recording !== 'none');
  const isLast = ({ operation }: Route) => Number(operationTestOf(operation).endsSession ?? false);
  const replies: RecordedReply[] = [];
  for (const route of recorded.toSorted((a, b) => isLast(a) - isLast(b))) {
    replies.push(await recordRoute(fixture, route));
    await waitUntilProcessed(fixture.askAsTenant);
  }
  return replies;
}

t.test('every operation returns the recorded reply', async (t) => {
  const fixture = await buildTenantFixture(t);
  const replies = [
    ...(await recordClient(fixture)),
    ...(await recordRoutes(fixture)),
    ...(await recordBilling(t)),
  ];
  const lines = replies.map((reply) => JSON.stringify(reply));
  if (process.env.RECORDED_REPLIES === 'write') writeFileSync(file, `${lines.join('\n')}\n`);
  const recorded = readFileSync(file, 'utf8').trimEnd().split('\n');
  t.equal(lines.length, recorded.length, 'record new operations with RECORDED_REPLIES=write');
  for (const [i, { request }] of replies.entries()) {
    if (lines[i] === recorded[i]) continue;
    t.same(replies[i], JSON.parse(recorded[i] ?? 'null'));
    t.fail(`${request}: the reply has other bytes than recorded`);
  }
  t.ok(lines.length > 240, `${lines.length} replies`);
});
