import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { joinAccountServer } from './account-server.ts';
import { sendRequest, type TestUser } from './people.ts';
import { adminKey } from './server.ts';

/** Profiles, deletion of an account by its owner, and user administration. */

t.setTimeout(testFileMsMax);

const cli = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), 'src', 'cli', 'main.js');
const run = promisify(execFile);

const { server, mails, createUser, administer, wait } = await joinAccountServer();

async function signedIn(name: string): Promise<TestUser> {
  const user = createUser(`${name}@users.example`);
  t.match(await user.signIn(), { status: 200 });
  return user;
}

async function userOf(user: TestUser) {
  return (await user.call('users/get-user')).body.user;
}

interface UserPage {
  readonly users: readonly { readonly email: string }[];
  readonly next_after: string | null;
}

function signInMails({ email }: TestUser): string[] {
  return mails().filter((mail) => mail.includes(`To: ${email}`) && mail.includes('verify?token='));
}

/** Requests another link and waits for its mail, which is not the only one to this user. */
async function askForLink(user: TestUser): Promise<string> {
  // A user gets one mail a minute.
  await wait(61_000);
  const before = signInMails(user).length;
  const linkRequest = { headers: user.headers, body: { email: user.email } };
  t.match(await sendRequest(`${server.url}/api/auth/magic-link/send`, linkRequest), { status: 200 });
  await waitUntil(`a mail to ${user.email}`, () => signInMails(user).length > before);
  return user.link();
}

function followLink(link: string, user: TestUser) {
  return sendRequest(link, { method: 'GET', headers: { ...user.headers, accept: 'application/json' } });
}

async function invite(owner: TestUser, invitee: TestUser, organization_id: string, permission: string) {
  const invitation = { organization_id, email: invitee.email, permission };
  t.match(await owner.call('organizations/users/invite-user', invitation), { status: 200 });
  const { invitations } = (await invitee.call('users/get-user')).body;
  const { invite_code } = invitations[0];
  t.match(await invitee.call('organizations/users/accept-invite', { invite_code }), { status: 200 });
}

t.test('null or an empty string clears a profile field, and an absent field stays', async (t) => {
  const ann = await signedIn('ann');
  const edit = (body: unknown) => ann.call('users/edit-user', body);
  const full = { name: 'Ann', company: 'Acme', avatar_url: 'https://example.com/ann.png' };
  t.match(await edit(full), { status: 200, body: { user: full } });
  t.match(await edit({ name: null }), { status: 200, body: { user: { ...full, name: null } } });
  t.match(await edit({ company: '' }), {
    status: 200,
    body: { user: { ...full, name: null, company: null } },
  });
  const cleared = { name: null, company: null, avatar_url: null };
  t.match(await edit({ avatar_url: null, company: null }), { status: 200, body: { user: cleared } });
  t.match(await userOf(ann), cleared);
  t.match(await edit({ name: ' ' }), { status: 400, body: { detail: /name/ } });
  t.match(await edit({}), { status: 400, body: { detail: /no changes/ } });
});

t.test(
  'an account can be deleted by its user, unless an organization would lose its last owner',
  async (t) => {
    const [bea, cid] = [await signedIn('bea'), await signedIn('cid')];
    const { organization_id } = (await bea.call('organizations/add-organization', { name: 'Bees' })).body;
    await invite(bea, cid, organization_id, 'MEMBER');
    const key = { organization_id, name: 'Website', permission: 'all' };
    const { api_key } = (await bea.call('organizations/api-keys/add-api-key', key)).body;
    const end = (confirm_email: string) => bea.call('users/delete-user', { confirm_email });

    t.match(await end(cid.email), { status: 400, body: { detail: /confirm_email/ } });
    t.match(await end(bea.email), {
      status: 409,
      body: { detail: /last owner of "Bees".*delete the organization/ },
    });
    t.match(await userOf(bea), { email: bea.email }, 'a rejected deletion has no effect');

    const heir = { organization_id, user_id: (await userOf(cid)).id, permission: 'OWNER' };
    t.match(await bea.call('organizations/users/update-user', heir), { status: 200 });
    const { id } = await userOf(bea);
    t.match(await end(bea.email.toUpperCase()), { status: 200 });
    t.match(await bea.call('users/get-user'), { status: 401 }, 'the session ended');
    const { users, api_keys } = (await cid.call('organizations/get-info', { organization_id })).body;
    t.same(
      users.map(({ email }: { email: string }) => email),
      [cid.email],
    );
    t.match(api_keys, [{ created_by: id }], 'keys belong to the organization');
    const asKey = { authorization: `Bearer ${api_key}` };
    t.match(await sendRequest(`${server.url}/v1/status/get-status`, { headers: asKey, body: {} }), {
      status: 200,
    });
    t.same((await administer('list-users', { email: bea.email })).body.users, []);
    const { entries } = (await administer('get-audit-log')).body;
    const entry = entries.find(({ action }: { action: string }) => action === 'user.deleted');
    t.match(entry, { action: 'user.deleted', actor: id, target: id });
    const log = (await cid.call('organizations/get-audit-log', { organization_id })).body.entries;
    t.match(log[0], { action: 'member.left', target: id });
  },
);

/** A user who owns the only organization with this name. */
async function signedInOwner(name: string, organizationName: string) {
  const user = await signedIn(name);
  const request = { name: organizationName };
  const { organization_id } = (await user.call('organizations/add-organization', request)).body;
  return { user, user_id: (await userOf(user)).id as string, organization_id: organization_id as string };
}

t.test('the administrator lists users by page, by address and by search', async (t) => {
  const [{ user: dan, user_id, organization_id }, eva] = [
    await signedInOwner('dan', 'Dogs'),
    await signedIn('eva'),
  ];
  const found = await administer('list-users', { email: ' DAN@users.example' });
  t.match(found.body, {
    users: [
      {
        user_id,
        email: dan.email,
        disabled_at: null,
        sessions: 1,
        organizations: [{ organization_id, name: 'Dogs', permission: 'OWNER' }],
      },
    ],
    next_after: null,
  });
  const all: string[] = [];
  for (let after: string | null = null, pages = 0; after !== null || pages === 0; pages += 1) {
    const page = (await administer('list-users', { after, limit: 1 })).body as UserPage;
    all.push(...page.users.map(({ email }) => email));
    after = page.next_after;
  }
  t.equal(new Set(all).size, all.length);
  t.ok(all.includes(dan.email) && all.includes(eva.email));
  t.match(await dan.call('users/edit-user', { name: 'Captain Ahab' }), { status: 200 });
  for (const search of ['DAN@USE', 'dan@u', 'tain ah']) {
    const { users } = (await administer('list-users', { search })).body as UserPage;
    t.same(
      users.map(({ email }) => email),
      [dan.email],
      `the server searches for "${search}"`,
    );
  }
  t.match(await administer('list-users', { search: '' }), { status: 422 });
});

t.test('the administrator ends the sessions of a user, and disables, enables and deletes one', async (t) => {
  const [{ user: fay, user_id, organization_id }, gus] = [
    await signedInOwner('fay', 'Foxes'),
    await signedIn('gus'),
  ];
  t.match(await administer('end-user-sessions', { user_id }), { status: 200 });
  t.match(await fay.call('users/get-user'), { status: 401 });
  t.match(await userOf(gus), { email: gus.email }, 'other users stay signed in');

  t.match(await administer('disable-user', { user_id }), { status: 200 });
  t.match(await administer('disable-user', { user_id }), { status: 200 }, 'idempotent');
  t.match((await administer('list-users', { email: fay.email })).body.users[0], {
    disabled_at: /^20/,
  });
  const link = await askForLink(fay);
  t.match(await followLink(link, fay), { status: 403, body: { detail: /disabled/ } });
  t.match(await administer('enable-user', { user_id }), { status: 200 });
  t.match(await followLink(link, fay), { status: 200 });

  t.match(await administer('delete-user', { user_id }), {
    status: 409,
    body: { detail: /The user is the last owner of "Foxes"/ },
  });
  t.match(await administer('delete-organization', { organization_id }), { status: 200 });
  t.match(await administer('delete-user', { user_id }), { status: 200 });
  for (const operation of ['delete-user', 'disable-user', 'enable-user', 'end-user-sessions'])
    t.match(await administer(operation, { user_id }), { status: 404 }, operation);
  const actions = (await administer('get-audit-log')).body.entries
    .filter(
      ({ target, actor }: { target: string; actor: string }) =>
        target === user_id && actor === 'administrator',
    )
    .map(({ action }: { action: string }) => action);
  t.same(actions, ['user.deleted', 'user.enabled', 'user.disabled', 'user.disabled']);
});

t.test('the command line lists users and ends their sessions', async (t) => {
  const [hal, ida] = [await signedIn('hal'), await signedIn('ida')];
  const command = (...words: string[]) =>
    run('env', ['-u', 'NODE_OPTIONS', process.execPath, cli, 'users', ...words, '--url', server.url], {
      env: { PATH: process.env.PATH ?? '', QUARRY_ADMIN_KEY: adminKey },
    });
  t.match((await command('list')).stdout, new RegExp(`${ida.email}.*off`));
  t.notMatch((await command('list', '--search', 'hal@')).stdout, ida.email);
  t.match((await command('end-sessions', ida.email)).stdout, /All sessions of .* ended/);
  t.match(await ida.call('users/get-user'), { status: 401 });
  t.match(await userOf(hal), { email: hal.email }, 'other users stay signed in');
  const missing = await command('delete', 'unknown@example.com', '--yes').catch((error) => error);
  t.match(missing.stderr, /no user with the address/);
});
