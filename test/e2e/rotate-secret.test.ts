import { createHmac } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { runQuarry, runQuarryProcess } from '../cli/quarry.ts';
import t from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { freePort } from './free-port.ts';
import { oneTimeCode } from './one-time-code.ts';
import { createMailFolder, type HttpReply, sendRequest, TestUser } from './people.ts';
import { TestServer } from './server.ts';
import { startVercelEmulator } from './vercel-emulator.ts';

/** `quarry rotate-secret` on the command line: state that stays, state that expires, and state that is recreated. */

t.setTimeout(testFileMsMax);

const vercelSecret = 'a-secret-that-vercel-knows';

const vercel = await startVercelEmulator(t);
const { url: MAIL_URL, mails } = createMailFolder(t);
const port = await freePort();
let ahead = 0;
const server = await TestServer.start(
  t,
  {
    PORT: String(port),
    BASE_URL: `http://127.0.0.1:${port}`,
    TRUST_PROXY: 'true',
    MAIL_URL,
    VERCEL_CLIENT_ID: 'oac_1',
    VERCEL_CLIENT_SECRET: vercelSecret,
    VERCEL_API_URL: vercel.url,
  },
  { clockOffsetMs: () => ahead },
);
let hostCount = 0;

function createUser(name: string): TestUser {
  const made = new TestUser(`${name}@example.com`, server, mails);
  hostCount += 1;
  made.headers = { 'x-forwarded-for': `10.3.0.${hostCount}` };
  return made;
}

/** Runs a command that needs the data of the server; with `run` as `runQuarryProcess`, in a process of its own. */
async function runCommand(
  words: readonly string[],
  run: typeof runQuarryProcess = runQuarry,
): Promise<string> {
  const { code, out, err } = await run([...words, '--data', server.data]);
  if (code !== 0) throw new Error(err);
  return out + err;
}

/** Stops the server, runs the command, and restarts the server. */
async function rotate(options: readonly string[], run?: typeof runQuarryProcess): Promise<string> {
  await server.stop();
  const output = await runCommand(['rotate-secret', ...options], run);
  await server.restart();
  return output;
}

const owner = createUser('owner');
await owner.signIn();
const organization_id = (await owner.call('organizations/add-organization', { name: 'Acme' })).body
  .organization_id as string;
const issued = await owner.call('organizations/api-keys/add-api-key', {
  organization_id,
  name: 'survives',
  permission: 'all',
});
const api = new CheckedApiClient(server, issued.body.api_key);
await api.call('collections/add-collection', { collection_name: 'papers' });
await api.add('papers', 'a.txt', 'a text');

/** User with a second factor, and its codes. */
const ada = createUser('ada');
await ada.signIn();
const { secret } = (await ada.call('users/begin-second-factor')).body;
const enabled = await ada.call('users/confirm-second-factor', { code: oneTimeCode(secret, Date.now()) });
const recoveryCodes: string[] = enabled.body.recovery_codes;

const linksOf = ({ email }: TestUser) =>
  mails().filter((mail) => mail.includes(`To: ${email}`) && mail.includes('verify?token='));

async function secondStep(code: () => string): Promise<HttpReply> {
  // A one-time password is valid once.
  ahead += 120_000;
  await server.syncClock();
  const before = linksOf(ada).length;
  await sendRequest(`${server.url}/api/auth/magic-link/send`, {
    headers: ada.headers,
    body: { email: ada.email },
  });
  await waitUntil('another link', () => linksOf(ada).length > before);
  const asProgram = { method: 'GET', headers: { ...ada.headers, accept: 'application/json' } };
  const first = await sendRequest(await ada.link(), asProgram);
  const body = { second_factor_token: first.body.second_factor_token, code: code() };
  return sendRequest(`${server.url}/api/auth/second-factor`, { body, headers: ada.headers });
}
const appCode = () => oneTimeCode(secret, Date.now() + ahead);

async function invite(email: string): Promise<void> {
  const invitee = await owner.call('organizations/users/invite-user', { organization_id, email });
  if (invitee.status !== 200) throw new Error(invitee.text);
}

async function accept(invitee: TestUser): Promise<number> {
  await invitee.signIn();
  const invite_code = await invitee.findInviteCode();
  return (await invitee.call('organizations/users/accept-invite', { invite_code })).status;
}

const createOrganization = (name: string, key: string) =>
  owner.call('organizations/add-organization', { name }, { 'idempotency-key': key });
const organizations = async (): Promise<string[]> =>
  (await owner.call('users/get-user')).body.organizations.map(({ name }: { name: string }) => name);

const signUp = await sendRequest(
  `${server.url}/api/marketplaces/vercel?${new URLSearchParams({ code: 'good', next: 'https://vercel.com/x' })}`,
  { method: 'GET', headers: { accept: 'application/json' } },
);
const bindReply = await owner.call(
  'marketplaces/bind',
  { sign_up: /sign_up=([\w-]{43})/.exec(signUp.body.url)?.[1], organization_id },
  { cookie: signUp.headers.get('set-cookie')?.split(';')[0] ?? '' },
);

/** Sends the event that a project was added; returns the number of token requests that it causes. */
async function addVercelProject(project: string): Promise<number> {
  const before = vercel.exchanges.length;
  vercel.projects[project] = {};
  const body = JSON.stringify({
    type: 'integration-configuration.scope-change-confirmed',
    payload: { configuration: { id: 'icfg_1' }, team: { id: 'team_1' } },
  });
  const signature = createHmac('sha1', vercelSecret).update(body).digest('hex');
  const headers = { 'content-type': 'application/json', 'x-vercel-signature': signature };
  const reply = await sendRequest(`${server.url}/api/marketplaces/vercel/events`, { body, headers });
  if (reply.status !== 200) throw new Error(reply.text);
  return vercel.exchanges.length - before;
}

t.test('persistent secrets survive a rotation, and sign-in links end', async (t) => {
  t.match(bindReply, { status: 200, body: { variables: 'set' } });
  const [bob, link] = [createUser('bob'), createUser('link')];
  await invite(bob.email);
  const once = await createOrganization('Once', 'k1');
  const { file_url } = await api.info('papers', 'a.txt');
  const linkRequest = { headers: link.headers, body: { email: link.email } };
  await sendRequest(`${server.url}/api/auth/magic-link/send`, linkRequest);
  const mailed = await link.link();

  t.match(
    await rotate([], runQuarryProcess),
    /was rotated\. Start the server again.*\s+Earlier invitations, file URLs .* stay valid/,
  );

  t.match(await owner.call('users/get-user'), { status: 200 }, 'a session');
  t.equal((await api.info('papers', 'a.txt')).path, 'a.txt', 'an API key');
  t.equal((await fetch(file_url)).status, 200, 'the address of a file');
  t.match(
    await createOrganization('Once', 'k1'),
    { status: once.status, body: once.body },
    'a repeatable reply',
  );
  t.equal((await organizations()).filter((name) => name === 'Once').length, 1, 'the change was made once');
  t.equal(await accept(bob), 200, 'an invitation');
  t.match(await secondStep(appCode), { status: 200 }, 'an authenticator app');
  t.equal(await addVercelProject('prj_4'), 0, 'the token of Vercel');
  t.same(vercel.projects.prj_4, vercel.projects.prj_1);
  const asProgram = { method: 'GET', headers: { ...link.headers, accept: 'application/json' } };
  t.match(await sendRequest(mailed, asProgram), { status: 400 }, 'a link that an earlier secret could forge');
  t.match(await runCommand(['login-link', '--url', server.url]), /verify\?token=/);
});

t.test('with --forget-earlier, signatures become invalid and encrypted secrets stay usable', async (t) => {
  const bea = createUser('bea');
  await invite(bea.email);
  await createOrganization('Twice', 'k2');
  const { file_url } = await api.info('papers', 'a.txt');

  t.match(await rotate(['--forget-earlier']), /Earlier invitations, .* are now invalid/);

  t.match(await owner.call('users/get-user'), { status: 200 }, 'a session stays');
  t.equal((await api.info('papers', 'a.txt')).path, 'a.txt', 'an API key stays');
  t.notSame((await fetch(file_url)).status, 200, 'the address of a file ends');
  const repeated = await createOrganization('Twice', 'k2');
  t.match(repeated, { status: 409, body: { detail: /was applied, but its reply can no longer be read/ } });
  t.equal(repeated.headers.get('x-should-retry'), 'false');
  t.equal((await organizations()).filter((name) => name === 'Twice').length, 1, 'no change was repeated');
  t.equal(await accept(bea), 404, 'an invitation ends');
  t.match(await secondStep(appCode), { status: 200 }, 'an authenticator app stays');
  t.equal(await addVercelProject('prj_5'), 0, 'the token of Vercel stays');
  t.same(vercel.projects.prj_5, vercel.projects.prj_1);
});

/** Replaces the file of the secrets, as if it had been lost. */
async function loseSecrets(): Promise<void> {
  await server.stop();
  rmSync(join(server.data, 'secrets.json'));
  await server.restart();
}

t.test('without the file of the secrets, Vercel is called once for another token', async (t) => {
  const key = vercel.projects.prj_1!.ZEROENTROPY_API_KEY;
  await loseSecrets();
  t.match(await secondStep(appCode), { status: 409, body: { detail: /Use a recovery code/ } });
  t.match(await secondStep(() => recoveryCodes[0]!), { status: 200 }, 'recovery codes stay');
  t.equal(await addVercelProject('prj_8'), 1, 'another token is requested from Vercel');
  t.equal(await addVercelProject('prj_6'), 0, 'once');
  t.same(vercel.projects.prj_6, vercel.projects.prj_8);
  t.not(
    vercel.projects.prj_6!.ZEROENTROPY_API_KEY,
    key,
    'with a new key, because the earlier one was sealed',
  );
});

t.test('Vercel is not called repeatedly after it rejects a renewal', async (t) => {
  // Vercel expects the secret of another client from now on.
  vercel.exchanges[0] = { path: '', form: {} };
  await loseSecrets();
  const before = vercel.exchanges.length;
  t.equal(await addVercelProject('prj_7'), 1);
  t.same(vercel.projects.prj_7, {}, 'refused');
  const failureCount = () =>
    server.fullLog
      .split('\n')
      .filter((line) => line.includes('setting environment variables of Vercel projects failed')).length;
  // A line of the log may arrive after the reply.
  await waitUntil('the error is logged', () => failureCount() > 0);
  t.equal(failureCount(), 1);
  // Housekeeping retries pending work at each start and every few minutes.
  ahead += 3_600_000;
  await server.syncClock();
  await server.restart();
  t.equal(vercel.exchanges.length, before + 1);
  t.equal(failureCount(), 1);
});
