import { randomUUID } from 'node:crypto';
import { generateKey } from '../../src/accounts/key-format.ts';
import { hashPassword } from '../../src/accounts/password.ts';
import { systemRandom } from '../../src/core/ids.ts';
import { createMailFolder, type HttpReply, sendRequest, TestUser } from '../e2e/people.ts';
import {
  adminKey,
  type ServerHost,
  type ServerVariables,
  TestServer,
  type TestServerOptions,
} from '../e2e/server.ts';
import { waitUntil } from '../timeouts.ts';

/** Server with two organizations and every kind of caller. */

/**
 * Kinds of callers. "stranger" is the OWNER of the other organization who names this one; "restricted" is a key of
 * this organization for another collection.
 */
export const callerNames = [
  'nobody',
  'garbage',
  'expired',
  'deleted',
  'ended session',
  'read_only',
  'all',
  'neighbour',
  'restricted',
  'administrator',
  'administrator session',
  'MEMBER',
  'ADMIN',
  'OWNER',
  'unnamed',
  'stranger',
  'from elsewhere',
] as const;
export type CallerName = (typeof callerNames)[number];

/** Callers that must not learn anything about the organization. */
export const outsiders: ReadonlySet<CallerName> = new Set([
  ...(['nobody', 'garbage', 'expired', 'deleted', 'ended session'] as const),
  ...(['neighbour', 'stranger', 'from elsewhere'] as const),
]);

/** Callers inside the organization that must not learn anything about the collection. */
export const organizationInsiders: ReadonlySet<CallerName> = new Set(['restricted']);

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
  readonly headers: Readonly<Record<CallerName, Readonly<Record<string, string>>>>;
  readonly owner: TestUser;
  /** Creates and signs in a user; returns the user id. */
  readonly newUser: (name: string) => Promise<string>;
  /** Sends a request with a key of the first organization. */
  readonly askAsTenant: (path: string, body: unknown) => Promise<HttpReply>;
  /** Every secret issued while the fixture was built. */
  readonly secrets: readonly string[];
}

/** Ids like those of the first organization that belong to no resource. */
export function randomResourceIds(): ResourceIds {
  return {
    organization_id: randomUUID(),
    collection_name: `nobodys-${randomUUID().slice(0, 8)}`,
    path: `nobodys-${randomUUID().slice(0, 8)}.txt`,
    owner_id: randomUUID(),
    member_id: randomUUID(),
    api_key_id: randomUUID(),
    email: `nobody-${randomUUID().slice(0, 8)}@example.com`,
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
  const invite_code = /eyJ[\w-]+\.[\w-]+\.[\w-]+/.exec(await invitee.findMail('invites you'))?.[0] ?? '';
  expectStatus('joining', await invitee.call('organizations/users/accept-invite', { invite_code }));
  return invite_code;
}

const textMarker = 'granite-of-the-north';

export async function buildTenantFixture(
  t: ServerHost,
  options: TestServerOptions = {},
  more: ServerVariables = {},
): Promise<TenantFixture> {
  const { url: MAIL_URL, mails } = createMailFolder(t);
  const password = 'correct horse battery staple';
  const hash = await hashPassword(password);
  const variables = { MAIL_URL, TRUST_PROXY: 'true', ADMIN_PASSWORD_HASH: hash, ...more };
  const server = await TestServer.start(t, variables, options);
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
  const key = async (user: TestUser, of: string, permission: string, more: object = {}) => {
    const keyRequest = { organization_id: of, name: `${permission} key`, permission, ...more };
    return expectStatus('a key', await user.call('organizations/api-keys/add-api-key', keyRequest), 201).body;
  };
  const { key: expired, endsAt } = await shortLivedKey(owner, organization_id);
  const [all, readOnly] = [
    await key(owner, organization_id, 'all'),
    await key(owner, organization_id, 'read_only'),
  ];
  const deleted = await key(owner, organization_id, 'all');
  const otherTenantKey = await key(otherOwner, otherOrganization, 'all');
  const restriction = { collection_names: ['another'], filter: null };
  const restricted = await key(owner, organization_id, 'all', { restriction });
  const keyRef = { organization_id, api_key_id: deleted.id };
  expectStatus('revoking', await owner.call('organizations/api-keys/delete-api-key', keyRef));

  const ask = (path: string, body: unknown) =>
    sendRequest(`${server.url}/v1/${path}`, { body, headers: { authorization: `Bearer ${all.api_key}` } });
  const [collection_name, path] = ['north-papers', 'north-plan.txt'];
  expectStatus('a collection', await ask('collections/add-collection', { collection_name }), 201);
  const content = { type: 'text', text: `The harbour wall is ${textMarker}.` };
  const document = { collection_name, path, content, metadata: { owner: 'north-owner' }, wait: true };
  expectStatus('a document', await ask('documents/add-document', document), 201);
  const hit = await ask('queries/top-documents', { collection_name, query: 'granite', k: 1 });
  const fileToken = /token=([^"&]+)/.exec(hit.text)?.[1] ?? '';

  const session = expectStatus(
    'the administrator',
    await sendRequest(`${server.url}/api/admin/login`, { body: { password }, headers: fromNewHost() }),
  ).body.access_token;
  const ended = new TestUser(owner.email, server, mails);
  ended.headers = fromNewHost();
  const adminGone = await sendRequest(`${server.url}/api/admin/login`, {
    body: { password },
    headers: fromNewHost(),
  });
  ended.token = adminGone.body.access_token;
  expectStatus('signing out', await ended.call('admin/logout'));

  const info = expectStatus('looking', await owner.call('organizations/get-info', { organization_id })).body;
  const idOf = (user: TestUser) =>
    info.users.find(({ email }: { email: string }) => email === user.email).user_id as string;
  const north: ResourceIds = {
    organization_id,
    collection_name,
    path,
    owner_id: idOf(owner),
    member_id: idOf(member),
    api_key_id: readOnly.id,
    email: member.email,
  };
  const as = (token: string) => ({ authorization: `Bearer ${token}` });
  const inside = (token: string) => ({ ...as(token), 'x-quarry-organization': organization_id });
  await waitUntil('the end of the key', () => Date.now() > endsAt);
  return {
    server,
    password,
    tenant: north,
    fileToken,
    tenantMarkers: [
      ...Object.values(north),
      ...[textMarker, 'North Secret Ltd', 'north-owner', owner.email, admin.email, idOf(admin)],
      ...info.api_keys.flatMap((each: { id: string; api_key: string }) => [each.id, each.api_key]),
    ],
    collectionMarkers: [collection_name, path, textMarker, 'north-owner'],
    headers: {
      nobody: {},
      garbage: as(generateKey(systemRandom)),
      expired: as(expired.api_key),
      deleted: as(deleted.api_key),
      'ended session': inside(ended.token),
      read_only: as(readOnly.api_key),
      all: as(all.api_key),
      neighbour: as(otherTenantKey.api_key),
      restricted: as(restricted.api_key),
      administrator: as(adminKey),
      'administrator session': as(session),
      MEMBER: inside(member.token),
      ADMIN: inside(admin.token),
      OWNER: inside(owner.token),
      unnamed: as(owner.token),
      stranger: inside(otherOwner.token),
      'from elsewhere': {
        cookie: `session=${owner.token}; admin=${session}`,
        origin: 'https://evil.example',
        'sec-fetch-site': 'cross-site',
        'x-quarry-organization': organization_id,
      },
    },
    owner,
    newUser: async (name) => {
      const user = await signInAs(server, name, mails);
      return (await user.call('users/get-user')).body.user.id;
    },
    askAsTenant: ask,
    secrets: [
      ...[owner.token, admin.token, member.token, otherOwner.token, session, ended.token],
      ...[
        all.api_key,
        readOnly.api_key,
        otherTenantKey.api_key,
        restricted.api_key,
        deleted.api_key,
        expired.api_key,
      ],
      ...[adminKey, password, fileToken, ...codes],
      ...mails().flatMap((mail) => /verify\?token=(\S+)/.exec(mail)?.slice(1, 2) ?? []),
    ],
  };
}
