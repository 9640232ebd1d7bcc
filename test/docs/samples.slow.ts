import { randomUUID } from 'node:crypto';
import { createFolder } from '../e2e/backup-commands.ts';
import { administrator, createMailFolder, TestUser } from '../e2e/people.ts';
import { adminKey, TestServer } from '../e2e/server.ts';
import { createTenant } from '../e2e/tenant.ts';
import { findOperationTest } from '../http/operations/operation-tests.ts';
import { FakeChatService } from '../support/fake-chat-service.ts';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { findSamples, type PageSample, type PageSampleLanguage, sampleLanguages } from './page-samples.ts';
import { runProgram } from './run-program.ts';

/** Runs every code sample of the API reference against the server that shows it. */

t.setTimeout(testFileMsMax);

const documentedUrl = 'http://127.0.0.1:8720';
const exampleIds = {
  organization: '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10',
  key: '7c0d7a35-2f4e-4b57-8a3e-0f6f3f3f5a21',
  user: '0d0f6a0e-61e3-4b0e-8d4c-0c1c7b0d8a44',
} as const;

/** Status for a caller with access; below 400, any success is accepted. */
function expectedStatusOf(operation: string): number {
  const test = findOperationTest(operation);
  if (test === undefined) return 200; // a page
  const statuses = [test.expected.all, test.expected.OWNER, test.expected.administrator];
  const permitted = statuses.find((status) => status !== 401 && status !== 403);
  return test.sample?.status ?? permitted ?? test.expected.all;
}

function orderOf({ operation }: PageSample): number {
  return findOperationTest(operation)?.sample?.order ?? 0;
}

const commands: Readonly<Record<PageSampleLanguage, (code: string) => readonly string[]>> = {
  // Where its input is a socket, Bash would take itself for a remote shell and run the startup file of interactive ones.
  curl: (code) => [
    'bash',
    '--norc',
    '-euo',
    'pipefail',
    '-c',
    code.replace('curl -s', 'curl -s -w "\\n%{http_code}"'),
  ],
  Node: (code) => [process.execPath, '--input-type=module', '-e', code],
  Python: (code) => ['python3', '-c', code],
};

/** Status of the reply: curl prints it last, Node first, and Python first or in the error. */
const statusPatterns: Readonly<Record<PageSampleLanguage, RegExp>> = {
  curl: /(\d{3})$/,
  Node: /^(\d{3})\b/,
  Python: /^(\d{3})\b|HTTPError: HTTP Error (\d{3})/m,
};

async function runSample({ language, code }: PageSample, env: NodeJS.ProcessEnv) {
  const { output } = await runProgram(commands[language](code), env);
  const found = statusPatterns[language].exec(output);
  return { status: Number(found?.[1] ?? found?.[2] ?? Number.NaN), output };
}

async function readSamples(server: TestServer): Promise<PageSample[]> {
  const home = await (await fetch(`${server.url}/docs`)).text();
  const paths = new Set([...home.matchAll(/href="(\/docs\/api\/[\w-]+)"/g)].map(([, path = '']) => path));
  const pages = [...paths].map(async (path) => findSamples(await (await fetch(server.url + path)).text()));
  return (await Promise.all(pages)).flat();
}

const { url: mailUrl, mails } = createMailFolder(t);
const chat = await FakeChatService.start(t);
const server = await TestServer.start(t, {
  ...chat.variables,
  MAIL_URL: mailUrl,
  ADMIN_PASSWORD_HASH: administrator.hash,
  BACKUP_TARGET: createFolder(t),
});
const samples = await readSamples(server);

async function signIn(name: string): Promise<TestUser> {
  const user = new TestUser(`${name}@example.com`, server, mails);
  await user.signIn();
  return user;
}

/** Creates an organization with two members and two keys for the samples of the account operations. */
async function createAccount(language: string) {
  const owner = await signIn(`owner-${language}`);
  const member = await signIn(`member-${language}`);
  const created = await owner.call('organizations/add-organization', { name: 'Acme' });
  const { organization_id } = created.body;
  const invitation = { organization_id, email: member.email, permission: 'MEMBER' };
  await owner.call('organizations/users/invite-user', invitation);
  const invite_code = await member.findInviteCode();
  const joined = await member.call('organizations/users/accept-invite', { invite_code });
  if (joined.status !== 200) throw new Error(`joining: ${joined.text}`);
  const addKey = async (name: string) => {
    const key = await owner.call('organizations/api-keys/add-api-key', {
      organization_id,
      name,
      permission: 'all',
    });
    return key.body.id as string;
  };
  const user_id: string = (await member.call('users/get-user')).body.user.id;
  return { owner, organization_id, user_id, keys: [await addKey('a'), await addKey('b')] };
}

/** A second backup at the same time is rejected. */
async function waitUntilNoBackupRuns(): Promise<void> {
  await waitUntil('the end of the running backup', async () => {
    const response = await fetch(`${server.url}/v1/admin/get-backup-status`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}` },
    });
    return ((await response.json()) as { running: object | null }).running === null;
  });
}

async function runLanguage(t: Test, language: PageSampleLanguage): Promise<void> {
  const { key, api } = await createTenant(server);
  const { owner, organization_id, user_id, keys } = await createAccount(language.toLowerCase());
  const env = { QUARRY_API_KEY: key, QUARRY_ADMIN_KEY: adminKey, QUARRY_SESSION: owner.token };
  const otherOrganization = randomUUID();
  let token = 'TOKEN';
  const adapt = ({ operation, code }: PageSample): string => {
    const isOther = operation === 'create-organization' || operation === 'delete-any-organization';
    return code
      .replaceAll(documentedUrl, server.url)
      .replaceAll(exampleIds.organization, isOther ? otherOrganization : organization_id)
      .replaceAll(exampleIds.key, operation.includes('organization') ? keys[0]! : keys[1]!)
      .replaceAll(exampleIds.user, user_id)
      .replaceAll('ada@example.com', owner.email)
      .replace('token=TOKEN', `token=${token}`);
  };
  const own = samples.filter((sample) => sample.language === language);
  for (const sample of own.toSorted((a, b) => orderOf(a) - orderOf(b))) {
    if (sample.operation === 'create-backup') await waitUntilNoBackupRuns();
    const { status, output } = await runSample({ ...sample, code: adapt(sample) }, env);
    const expected = expectedStatusOf(sample.operation);
    const text = `${sample.operation}: ${output.slice(-500)}`;
    if (expected < 400) t.ok(status >= 200 && status < 400, text);
    else t.equal(status, expected, text);
    if (sample.operation === 'add-document') {
      await api.addAll('handbook', [
        { path: 'guides/setup.pdf', content: { type: 'text', text: 'Setup takes an hour.' } },
        { path: 'old.txt', content: { type: 'text', text: 'An older text.' } },
      ]);
      const reference = { collection_name: 'handbook', path: 'guides/setup.pdf' };
      const { document } = await api.call('documents/get-document-info', reference);
      token = new URL(document.file_url).searchParams.get('token') ?? '';
    }
  }
}

t.ok(samples.length > 300, 'the reference has samples of all operations');
for (const language of sampleLanguages)
  await t.test(`every ${language} sample runs`, (t) => runLanguage(t, language));
