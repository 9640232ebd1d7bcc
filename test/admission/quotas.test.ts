import { Quotas, type StorageUsage } from '../../src/admission/quotas.ts';
import { RateLimiter } from '../../src/admission/rate-limiter.ts';
import { type OrganizationLimits, unlimitedTier } from '../../src/admission/tiers.ts';
import type { Principal } from '../../src/schemas/principal.ts';
import t from '../support/tap.ts';
import { FakeClock } from './fake-clock.ts';

const organizationId = 'aaaaaaaa-1111-4111-8111-111111111111';
const principal: Principal = {
  kind: 'organization',
  organizationId,
  keyId: 'key',
  permission: 'all',
  zdr: false,
};
const unlimited: OrganizationLimits = {
  ...unlimitedTier,
  bytesPerRequestMax: 5_000_000,
  metadataBytesMax: 65_535,
};

function build(limits: Partial<OrganizationLimits>) {
  const clock = new FakeClock();
  const state = { stored: { documents: 0, bytes: 0 } as StorageUsage, ingesting: 0 };
  const quotas = new Quotas({
    limitsOf: () => ({ ...unlimited, ...limits }),
    limiter: new RateLimiter(clock),
    collectionsOf: async () => ['one'],
    storageUsageIn: () => state.stored,
    ingestingDocuments: () => state.ingesting,
  });
  const add = async (bytes: number) =>
    quotas.reserve(organizationId, { documents: 1, bytes, received: bytes });
  return { clock, state, quotas, add };
}

const limitIs = (limit: string, more: object = {}) => ({
  code: 'rate_limited',
  options: { headers: { 'x-quarry-limit': limit }, ...more },
});

t.test('requests and queries are counted before the body is read, each by its own limit', async (t) => {
  const { quotas, clock } = build({ requestsPerMinute: 8, queriesPerMinute: 4 });
  for (let i = 0; i < 4; i += 1) quotas.admit(principal, 'top-snippets');
  t.throws(() => quotas.admit(principal, 'top-documents'), limitIs('queries'));
  for (let i = 0; i < 4; i += 1) quotas.admit(principal, 'get-status');
  t.throws(() => quotas.admit(principal, 'get-status'), limitIs('requests'));
  t.doesNotThrow(() => quotas.admit({ kind: 'administrator' }, 'get-organization'));
  await clock.advance(15_000);
  t.doesNotThrow(() => quotas.admit(principal, 'top-pages'), 'a quarter is refilled');
  t.throws(() => quotas.admit(principal, 'top-pages'), limitIs('queries'));
  t.doesNotThrow(() => quotas.admit(principal, 'get-status'), 'a rejected query is not counted');
});

t.test('a file that is parsed and not stored counts like an added one', async (t) => {
  const { quotas, clock } = build({ documentBytesPerMinute: 1_000 });
  quotas.admit(principal, 'parse-document');
  quotas.consumeDocumentBytes(organizationId, 1_000);
  t.throws(() => quotas.consumeDocumentBytes(organizationId, 1), limitIs('document-bytes'));
  t.throws(
    () => quotas.admit(principal, 'parse-document'),
    limitIs('document-bytes'),
    'rejected before the body is read',
  );
  t.throws(() => quotas.admit(principal, 'add-document'), limitIs('document-bytes'));
  await clock.advance(15_000);
  t.doesNotThrow(() => quotas.admit(principal, 'parse-document'));
});

t.test('an organization without limits is not counted', async (t) => {
  const { quotas } = build({});
  for (let i = 0; i < 100; i += 1) quotas.admit(principal, 'top-snippets');
  const growth = { documents: 1, bytes: 1e12, received: 1e12 };
  t.equal(quotas.reserve(organizationId, growth), null);
});

t.test('concurrent writes never reserve the same space', async (t) => {
  const { add, state } = build({ documentsMax: 10, storageBytesMax: 1_000 });
  state.stored = { documents: 5, bytes: 0 };
  const writes = Array.from({ length: 8 }, () => add(10));
  const reservations = await Promise.all(writes.slice(0, 5));
  const [sixth, ...others] = writes.slice(5);
  // Stored already, but still reserved: until the reservation ends, counting both must not cause a rejection.
  state.stored = { documents: 9, bytes: 40 };
  for (const one of reservations.slice(1)) one?.end(true);
  const settled = (promise: Promise<unknown> | undefined) =>
    Promise.race([promise, new Promise((resolve) => setImmediate(resolve, 'waits'))]);
  t.equal(await settled(sixth), 'waits');
  reservations[0]?.end(false);
  const last = await sixth;
  state.stored = { documents: 10, bytes: 50 };
  last?.end(true);
  for (const one of others) await t.rejects(one, limitIs('documents', { shouldRetry: false }));
  state.stored = { documents: 0, bytes: 0 };
  const large = await add(1_000);
  const next = add(1);
  large?.end(false);
  large?.end(false);
  (await next)?.end(false);
  t.ok(await add(1_000), 'an unwritten reservation uses no space and is returned once');
});

t.test('waiting writes get space in order of arrival, and a full store rejects at once', async (t) => {
  const { add, state } = build({ documentsMax: 3 });
  state.stored = { documents: 2, bytes: 0 };
  const [first, second, third] = [add(1), add(1), add(1)];
  const one = await first;
  one?.end(false);
  const two = await second;
  state.stored = { documents: 3, bytes: 0 };
  two?.end(true);
  await t.rejects(third, limitIs('documents'));
  await t.rejects(add(1), limitIs('documents'));
});

t.test('writes that reduce the size are always accepted', async (t) => {
  const { quotas, state } = build({ documentsMax: 1, storageBytesMax: 10 });
  state.stored = { documents: 5, bytes: 100 };
  t.ok(await quotas.reserve(organizationId, { documents: 0, bytes: -5, received: 20 }));
  const pendingWrite = async () => quotas.reserve(organizationId, { documents: 0, bytes: 1, received: 20 });
  await t.rejects(pendingWrite(), limitIs('storage-bytes'));
});

t.test('bytes of documents are refunded with time or when the write fails', async (t) => {
  const { add, quotas, clock } = build({ documentBytesPerMinute: 400 });
  const first = await add(400);
  t.throws(
    () => quotas.admit(principal, 'put-document'),
    limitIs('document-bytes'),
    'rejected before the body is read',
  );
  await t.rejects(add(1), limitIs('document-bytes'));
  first?.end(false);
  (await add(400))?.end(true);
  await clock.advance(15_000);
  await t.rejects(add(101), limitIs('document-bytes'));
  t.ok(await add(100));
  await t.rejects(add(401), limitIs('document-bytes', { shouldRetry: false }));
});

t.test('pending documents count, including those being written', async (t) => {
  const { add, quotas, state } = build({ ingestDocumentsMax: 3 });
  state.ingesting = 1;
  const [first, second] = [await add(1), await add(1)];
  await t.rejects(add(1), limitIs('ingest-documents'));
  t.throws(() => quotas.admit(principal, 'add-document'), limitIs('ingest-documents'));
  first?.end(false);
  second?.end(true);
  state.ingesting = 2;
  t.ok(await add(1));
});
