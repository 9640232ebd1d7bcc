import { randomUUID } from 'node:crypto';
import { generateKey } from '../../src/accounts/key-format.ts';
import { systemRandom } from '../../src/core/ids.ts';
import { administrator, createMailFolder, type HttpReply, sendRequest, TestUser } from '../e2e/people.ts';
import {
  adminKey,
  type ServerHost,
  type ServerVariables,
  TestServer,
  type TestServerOptions,
} from '../e2e/server.ts';
import { FakeChatService } from '../support/fake-chat-service.ts';
import { waitUntil } from '../timeouts.ts';
import type { CallerName } from './callers.ts';

/** Server with two organizations and every kind of caller. */

/** Ids and names in an organization that a request can carry. */
export interface ResourceIds {
  readonly organization_id: string;
  readonly collection_name: string;
  readonly path: string;
  readonly owner_id: string;
  readonly member_id: string;
  readonly api_key_id: string;
  readonly email: string;
}

export interface TenantFixture {
  readonly server: TestServer;
  readonly password: string;
  readonly tenant: ResourceIds;
  /** File token of the only document of the first organization. */
  readonly fileToken: string;
  /** Words that occur only in data of the first organization. */
  readonly tenantMarkers: readonly string[];
  /** Words that occur only in data of the collection. */
  readonly collectionMarkers: readonly string[];
  /** Words that occur only in data of the document. */
  readonly documentMarkers: readonly string[];
  readonly headers: Readonly<Record<CallerName, Readonly<Record<string, string>>>>;
  readonly owner: TestUser;
  /** Creates and signs in a user; returns the user id. */
  readonly newUser: (name: string) => Promise<string>;
  /** Sends a request with a key of the first organization. */
  readonly askAsTenant: (path: string, body: unknown) => Promise<HttpReply>;
  readonly askAsAdministrator: (path: string, body: unknown) => Promise<HttpReply>;
  /** Every secret issued while the fixture was built. */
  readonly secrets: readonly string[];
}

/** Ids like those of the first organization that belong to no resource. */
export function randomResourceIds(): ResourceIds {
  return {
    organization_id: randomUUID(),
    collection_name: `missing-${randomUUID().slice(0, 8)}`,
    path: `missing-${randomUUID().slice(0, 8)}.txt`,
    owner_id: randomUUID(),
    member_id: randomUUID(),
    api_key_id: randomUUID(),
    email: `missing-${randomUUID().slice(0, 8)}@example.com`,
  };
}

let hostCount = 0;
/** A different host for each request, so that limits per host do not apply. */
export function fromNewHost(): Record<string, string> {
  hostCount += 1;
  return { 'x-forwarded-for': `10.${hostCount >> 16}.${(hostCount >> 8) & 255}.${hostCount & 255}` };
}

function expectStatus(what: string, answer: HttpReply, status = 200): HttpReply {
  if (answer.status !== status) throw new Error(`${what} answered ${answer.status}: ${answer.text}`);
  return answer;
}

async function signInAs(server: TestServer, name: string, mails: () => string[]): Promise<TestUser> {
  const user = new TestUser(`${name}@example.com`, server, mails);
  user.headers = fromNewHost();
  expectStatus(`${name} signs in`, await user.signIn());
  return user;
}
/**
 * Creates a key that expires at `endsAt`. A slow server may reject an expiry that has passed by then; the expiry is
 * then moved later and the request repeated.
 */
async function shortLivedKey(owner: TestUser, organization_id: string) {
  for (let aheadMs = 1_000; ; aheadMs *= 2) {
    const endsAt = Date.now() + aheadMs;
    const expires_at = new Date(endsAt).toISOString();
    const keyRequest = { organization_id, name: 'expired key', permission: 'all', expires_at };
    const created = await owner.call('organizations/api-keys/add-api-key', keyRequest);
    if (created.status === 201 || aheadMs > 60_000)
      return { key: expectStatus('a key', created, 201).body, endsAt };
  }
}

async function invite(owner: TestUser, invitee: TestUser, organization_id: string, permission: string) {
  const invitation = { organization_id, email: invitee.email, permission };
  expectStatus('an invitation', await owner.call('organizations/users/invite-user', invitation));
  const invite_code = await invitee.findInviteCode();
  expectStatus('joining', await invitee.call('organizations/users/accept-invite', { invite_code }));
  return invite_code;
}

const textMarker = 'granite-of-the-north';

const collection_name = 'north-papers';
const path = 'north-plan.txt';
const documentOwner = 'north-owner';
const documentMarkers = [path, textMarker, documentOwner];

/** Adds the document of the tenant and returns the token of its file URL. */
async function addDocument(ask: TenantFixture['askAsTenant']): Promise<string> {
  expectStatus('a collection', await ask('collections/add-collection', { collection_name }), 201);
  const content = { type: 'text', text: `The harbour wall is ${textMarker}.` };
  const document = { collection_name, path, content, metadata: { owner: documentOwner }, wait: true };
  expectStatus('a document', await ask('documents/add-document', document), 201);
  const hit = await ask('queries/top-documents', { collection_name, query: 'granite', k: 1 });
  return /token=([^"&]+)/.exec(hit.text)?.[1] ?? '';
}

interface OwnedOrganization {
  readonly user: TestUser;
  readonly organizationId: string;
}

/** Creates one key of each kind for the tenant, and one for another organization. */
async function createKeys(tenant: OwnedOrganization, other: OwnedOrganization) {
  const key = async ({ user, organizationId }: OwnedOrganization, permission: string, more: object = {}) => {
    const keyRequest = { organization_id: organizationId, name: `${permission} key`, permission, ...more };
    return expectStatus('a key', await user.call('organizations/api-keys/add-api-key', keyRequest), 201).body;
  };
  const { key: expired, endsAt } = await shortLivedKey(tenant.user, tenant.organizationId);
  const all = await key(tenant, 'all');
  const readOnly = await key(tenant, 'read_only');
  const deleted = await key(tenant, 'all');
  const otherTenantKey = await key(other, 'all');
  const restricted = await key(tenant, 'all', {
    restriction: { collection_names: ['another'], filter: null },
  });
  const filtered = await key(tenant, 'all', {
    restriction: { collection_names: null, filter: { owner: 'somebody-else' } },
  });
  const keyRef = { organization_id: tenant.organizationId, api_key_id: deleted.id };
  expectStatus('revoking', await tenant.user.call('organizations/api-keys/delete-api-key', keyRef));
  return { expired, endsAt, all, readOnly, deleted, otherTenantKey, restricted, filtered };
}

/** Returns the token of a new session of the administrator. */
async function signInAdministrator(server: TestServer, password: string): Promise<string> {
  const reply = await sendRequest(`${server.url}/api/admin/login`, {
    body: { password },
    headers: fromNewHost(),
  });
  return expectStatus('the administrator', reply).body.access_token;
}

type TokenName =
  | ('expired' | 'deleted' | 'readOnly' | 'all' | 'otherKey' | 'restricted' | 'filtered')
  | ('session' | 'ended' | 'owner' | 'admin' | 'member' | 'nonMember');

/** Returns the headers of each caller. */
function createHeaders(
  organizationId: string,
  tokens: Readonly<Record<TokenName, string>>,
): TenantFixture['headers'] {
  const as = (token: string) => ({ authorization: `Bearer ${token}` });
  const inside = (token: string) => ({ ...as(token), 'x-quarry-organization': organizationId });
  return {
    anonymous: {},
    garbage: as(generateKey(systemRandom)),
    expired: as(tokens.expired),
    deleted: as(tokens.deleted),
    'ended session': inside(tokens.ended),
    read_only: as(tokens.readOnly),
    all: as(tokens.all),
    otherKey: as(tokens.otherKey),
    restricted: as(tokens.restricted),
    filtered: as(tokens.filtered),
    administrator: as(adminKey),
    'administrator session': as(tokens.session),
    MEMBER: inside(tokens.member),
    ADMIN: inside(tokens.admin),
    OWNER: inside(tokens.owner),
    unnamed: as(tokens.owner),
    nonMember: inside(tokens.nonMember),
    'from elsewhere': {
      cookie: `session=${tokens.owner}; admin=${tokens.session}`,
      origin: 'https://evil.example',
      'sec-fetch-site': 'cross-site',
      'x-quarry-organization': organizationId,
    },
  };
}

/** Signs in four people and creates two organizations, of which the first has three members. */
async function createOrganizations(server: TestServer, mails: () => string[]) {
  const [owner, admin, member, otherOwner] = (await Promise.all(
    ['nora', 'nils', 'nell', 'sue'].map((name) => signInAs(server, name, mails)),
  )) as [TestUser, TestUser, TestUser, TestUser];
  const found = async (user: TestUser, name: string) =>
    expectStatus('founding', await user.call('organizations/add-organization', { name })).body
      .organization_id;
  const organization_id: string = await found(owner, 'North Secret Ltd');
  const otherOrganization: string = await found(otherOwner, 'South Ltd');
  const codes = [
    await invite(owner, admin, organization_id, 'ADMIN'),
    await invite(owner, member, organization_id, 'MEMBER'),
  ];
  return { owner, admin, member, otherOwner, organization_id, otherOrganization, codes };
}

/** Returns the token of an administrator session that has ended. */
async function createEndedSession(user: TestUser, server: TestServer, password: string): Promise<string> {
  user.headers = fromNewHost();
  user.token = await signInAdministrator(server, password);
  const { token } = user;
  expectStatus('signing out', await user.call('admin/logout'));
  return token;
}

async function readMembers(owner: TestUser, organization_id: string) {
  const info = expectStatus('looking', await owner.call('organizations/get-info', { organization_id })).body;
  const idOf = ({ email: wanted }: TestUser): string =>
    info.users.find(({ email }: { email: string }) => email === wanted).user_id;
  return { info, idOf };
}

function keyTokensOf(keys: Awaited<ReturnType<typeof createKeys>>) {
  return {
    expired: keys.expired.api_key,
    deleted: keys.deleted.api_key,
    readOnly: keys.readOnly.api_key,
    all: keys.all.api_key,
    otherKey: keys.otherTenantKey.api_key,
    restricted: keys.restricted.api_key,
    filtered: keys.filtered.api_key,
  };
}

export async function buildTenantFixture(
  t: ServerHost,
  options: TestServerOptions = {},
  more: ServerVariables = {},
): Promise<TenantFixture> {
  const { url: MAIL_URL, mails } = createMailFolder(t);
  const { password, hash: ADMIN_PASSWORD_HASH } = administrator;
  const chat = await FakeChatService.start(t);
  const variables = { MAIL_URL, TRUST_PROXY: 'true', ADMIN_PASSWORD_HASH, ...chat.variables, ...more };
  const server = await TestServer.start(t, variables, options);
  const { owner, admin, member, otherOwner, organization_id, otherOrganization, codes } =
    await createOrganizations(server, mails);
  const keys = await createKeys(
    { user: owner, organizationId: organization_id },
    { user: otherOwner, organizationId: otherOrganization },
  );
  const askAs = (key: string) => (path: string, body: unknown) =>
    sendRequest(`${server.url}/v1/${path}`, { body, headers: { authorization: `Bearer ${key}` } });
  const ask = askAs(keys.all.api_key);
  const fileToken = await addDocument(ask);
  const session = await signInAdministrator(server, password);
  const ended = await createEndedSession(new TestUser(owner.email, server, mails), server, password);
  const tokens = {
    ...keyTokensOf(keys),
    session,
    ended,
    owner: owner.token,
    admin: admin.token,
    member: member.token,
    nonMember: otherOwner.token,
  };
  const { info, idOf } = await readMembers(owner, organization_id);
  const north: ResourceIds = {
    organization_id,
    collection_name,
    path,
    owner_id: idOf(owner),
    member_id: idOf(member),
    api_key_id: keys.readOnly.id,
    email: member.email,
  };
  await waitUntil('the end of the key', () => Date.now() > keys.endsAt);
  return {
    server,
    password,
    tenant: north,
    fileToken,
    tenantMarkers: [
      ...Object.values(north),
      ...[textMarker, 'North Secret Ltd', documentOwner, owner.email, admin.email, idOf(admin)],
      ...info.api_keys.flatMap((each: { id: string; api_key: string }) => [each.id, each.api_key]),
    ],
    collectionMarkers: [collection_name, ...documentMarkers],
    documentMarkers,
    headers: createHeaders(organization_id, tokens),
    owner,
    newUser: async (name) => {
      const user = await signInAs(server, name, mails);
      return (await user.call('users/get-user')).body.user.id;
    },
    askAsTenant: ask,
    askAsAdministrator: askAs(adminKey),
    secrets: [
      ...Object.values(tokens),
      ...[adminKey, password, fileToken, ...codes],
      ...mails().flatMap((mail) => /verify\?token=(\S+)/.exec(mail)?.slice(1, 2) ?? []),
    ],
  };
}
