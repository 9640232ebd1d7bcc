import { randomUUID } from 'node:crypto';
import { issueKey } from '../../src/accounts/key-format.ts';
import { hashPassword } from '../../src/accounts/password.ts';
import { systemChance } from '../../src/base/ids.ts';
import { type Answer, outbox, Person, send } from '../e2e/people.ts';
import { adminKey, type ServerHost, type StartOptions, TestServer, type Variables } from '../e2e/server.ts';
import { until } from '../waiting.ts';

/** A server with two organisations, and everybody who could call it. */

/**
 * Whoever calls; "stranger" is the OWNER of the other organisation, who names this one, "restricted" a key of this one
 * for another collection.
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

/** Who must learn nothing of the organisation. */
export const outsiders: ReadonlySet<CallerName> = new Set([
  ...(['nobody', 'garbage', 'expired', 'deleted', 'ended session'] as const),
  ...(['neighbour', 'stranger', 'from elsewhere'] as const),
]);

/** Who belongs to the organisation, and must learn nothing of the collection. */
export const insiders: ReadonlySet<CallerName> = new Set(['restricted']);

/** What a request may name of an organisation. */
export interface Names {
  readonly organization_id: string;
  readonly collection_name: string;
  readonly path: string;
  readonly owner_id: string;
  readonly member_id: string;
  readonly api_key_id: string;
  readonly email: string;
}

export interface World {
  readonly server: TestServer;
  readonly password: string;
  readonly north: Names;
  /** Of the only document of the north. */
  readonly fileToken: string;
  /** Words that stand in what is the north's alone. */
  readonly marks: readonly string[];
  /** Words that stand in what is the collection's alone. */
  readonly collectionMarks: readonly string[];
  readonly headers: Readonly<Record<CallerName, Readonly<Record<string, string>>>>;
  readonly owner: Person;
  /** Signs somebody new in; gives their id. */
  readonly newUser: (name: string) => Promise<string>;
  /** As the north's own program. */
  readonly ask: (path: string, body: unknown) => Promise<Answer>;
  /** Every secret that was given out on the way. */
  readonly secrets: readonly string[];
}

/** As much as the north's, and nobody's. */
export function randomNames(): Names {
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

let hosts = 0;
/** A host of its own for each request, so that limits per host stay out of the way. */
export function fromAnywhere(): Record<string, string> {
  hosts += 1;
  return { 'x-forwarded-for': `10.${hosts >> 16}.${(hosts >> 8) & 255}.${hosts & 255}` };
}

function checked(what: string, answer: Answer, status = 200): Answer {
  if (answer.status !== status) throw new Error(`${what} answered ${answer.status}: ${answer.text}`);
  return answer;
}

async function signedIn(server: TestServer, name: string, mails: () => string[]): Promise<Person> {
  const person = new Person(`${name}@example.com`, server, mails);
  person.headers = fromAnywhere();
  checked(`${name} signs in`, await person.signIn());
  return person;
}
/**
 * A key that has ended by `endsAt`. A slow server may refuse a time that has passed meanwhile: then a later one is
 * tried.
 */
async function shortLivedKey(owner: Person, organization_id: string) {
  for (let aheadMs = 1_000; ; aheadMs *= 2) {
    const endsAt = Date.now() + aheadMs;
    const expires_at = new Date(endsAt).toISOString();
    const wanted = { organization_id, name: 'expired key', permission: 'all', expires_at };
    const made = await owner.call('organizations/api-keys/add-api-key', wanted);
    if (made.status === 201 || aheadMs > 60_000) return { key: checked('a key', made, 201).body, endsAt };
  }
}

async function join(owner: Person, guest: Person, organization_id: string, permission: string) {
  const invitation = { organization_id, email: guest.email, permission };
  checked('an invitation', await owner.call('organizations/users/invite-user', invitation));
  const invite_code = /eyJ[\w-]+\.[\w-]+\.[\w-]+/.exec(await guest.mailWith('invites you'))?.[0] ?? '';
  checked('joining', await guest.call('organizations/users/accept-invite', { invite_code }));
  return invite_code;
}

const markOfText = 'granite-of-the-north';

export async function buildWorld(
  t: ServerHost,
  options: StartOptions = {},
  more: Variables = {},
): Promise<World> {
  const { url: MAIL_URL, mails } = outbox(t);
  const password = 'correct horse battery staple';
  const hash = await hashPassword(password);
  const variables = { MAIL_URL, TRUST_PROXY: 'true', ADMIN_PASSWORD_HASH: hash, ...more };
  const server = await TestServer.start(t, variables, options);
  const [owner, admin, member, stranger] = (await Promise.all(
    ['nora', 'nils', 'nell', 'sue'].map((name) => signedIn(server, name, mails)),
  )) as [Person, Person, Person, Person];
  const found = async (person: Person, name: string) =>
    checked('founding', await person.call('organizations/add-organization', { name })).body.organization_id;
  const organization_id: string = await found(owner, 'North Secret Ltd');
  const southern: string = await found(stranger, 'South Ltd');
  const codes = [
    await join(owner, admin, organization_id, 'ADMIN'),
    await join(owner, member, organization_id, 'MEMBER'),
  ];
  const key = async (person: Person, of: string, permission: string, more: object = {}) => {
    const wanted = { organization_id: of, name: `${permission} key`, permission, ...more };
    return checked('a key', await person.call('organizations/api-keys/add-api-key', wanted), 201).body;
  };
  const { key: expired, endsAt } = await shortLivedKey(owner, organization_id);
  const [all, readOnly] = [
    await key(owner, organization_id, 'all'),
    await key(owner, organization_id, 'read_only'),
  ];
  const deleted = await key(owner, organization_id, 'all');
  const neighbour = await key(stranger, southern, 'all');
  const restriction = { collection_names: ['another'], filter: null };
  const restricted = await key(owner, organization_id, 'all', { restriction });
  const gone = { organization_id, api_key_id: deleted.id };
  checked('revoking', await owner.call('organizations/api-keys/delete-api-key', gone));

  const ask = (path: string, body: unknown) =>
    send(`${server.url}/v1/${path}`, { body, headers: { authorization: `Bearer ${all.api_key}` } });
  const [collection_name, path] = ['north-papers', 'north-plan.txt'];
  checked('a collection', await ask('collections/add-collection', { collection_name }), 201);
  const content = { type: 'text', text: `The harbour wall is ${markOfText}.` };
  const document = { collection_name, path, content, metadata: { owner: 'north-owner' }, wait: true };
  checked('a document', await ask('documents/add-document', document), 201);
  const hit = await ask('queries/top-documents', { collection_name, query: 'granite', k: 1 });
  const fileToken = /token=([^"&]+)/.exec(hit.text)?.[1] ?? '';

  const session = checked(
    'the administrator',
    await send(`${server.url}/api/admin/login`, { body: { password }, headers: fromAnywhere() }),
  ).body.access_token;
  const ended = new Person(owner.email, server, mails);
  ended.headers = fromAnywhere();
  const adminGone = await send(`${server.url}/api/admin/login`, {
    body: { password },
    headers: fromAnywhere(),
  });
  ended.token = adminGone.body.access_token;
  checked('signing out', await ended.call('admin/logout'));

  const info = checked('looking', await owner.call('organizations/get-info', { organization_id })).body;
  const idOf = (person: Person) =>
    info.users.find(({ email }: { email: string }) => email === person.email).user_id as string;
  const north: Names = {
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
  await until('the end of the key', () => Date.now() > endsAt);
  return {
    server,
    password,
    north,
    fileToken,
    marks: [
      ...Object.values(north),
      ...[markOfText, 'North Secret Ltd', 'north-owner', owner.email, admin.email, idOf(admin)],
      ...info.api_keys.flatMap((each: { id: string; api_key: string }) => [each.id, each.api_key]),
    ],
    collectionMarks: [collection_name, path, markOfText, 'north-owner'],
    headers: {
      nobody: {},
      garbage: as(issueKey(systemChance)),
      expired: as(expired.api_key),
      deleted: as(deleted.api_key),
      'ended session': inside(ended.token),
      read_only: as(readOnly.api_key),
      all: as(all.api_key),
      neighbour: as(neighbour.api_key),
      restricted: as(restricted.api_key),
      administrator: as(adminKey),
      'administrator session': as(session),
      MEMBER: inside(member.token),
      ADMIN: inside(admin.token),
      OWNER: inside(owner.token),
      unnamed: as(owner.token),
      stranger: inside(stranger.token),
      'from elsewhere': {
        cookie: `session=${owner.token}; admin=${session}`,
        origin: 'https://evil.example',
        'sec-fetch-site': 'cross-site',
        'x-quarry-organization': organization_id,
      },
    },
    owner,
    newUser: async (name) => {
      const person = await signedIn(server, name, mails);
      return (await person.call('users/get-user')).body.user.id;
    },
    ask,
    secrets: [
      ...[owner.token, admin.token, member.token, stranger.token, session, ended.token],
      ...[
        all.api_key,
        readOnly.api_key,
        neighbour.api_key,
        restricted.api_key,
        deleted.api_key,
        expired.api_key,
      ],
      ...[adminKey, password, fileToken, ...codes],
      ...mails().flatMap((mail) => /verify\?token=(\S+)/.exec(mail)?.slice(1, 2) ?? []),
    ],
  };
}
