import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import type { Test } from 'tap';
import { Api } from './api.ts';
import { graveFindings, keepScreen, openPage } from './browser.ts';
import { handbook } from './dashboard-first-run.ts';
import { signInAgain } from './dashboard-people.ts';
import { outbox, Person } from './people.ts';
import { TestServer } from './server.ts';

/** Every page as people see it, with something on it: in light and dark, wide and narrow. */

const compiledRoot = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const password = 'correct horse battery staple';

type Looks = Pick<BrowserContextOptions, 'colorScheme' | 'viewport'>;
export const looks: Readonly<Record<string, Looks>> = {
  light: { colorScheme: 'light', viewport: { width: 1_280, height: 800 } },
  dark: { colorScheme: 'dark', viewport: { width: 1_280, height: 800 } },
  'light-middle': { colorScheme: 'light', viewport: { width: 768, height: 800 } },
  'light-narrow': { colorScheme: 'light', viewport: { width: 320, height: 720 } },
  'dark-narrow': { colorScheme: 'dark', viewport: { width: 320, height: 720 } },
};

interface Place {
  readonly name: string;
  /** Below /app/, or from the root when it begins with a slash. */
  readonly address: string;
  /** Opens what the page does not show by itself. */
  readonly prepare?: (page: Page) => Promise<unknown>;
}

const button = (name: string) => (page: Page) => page.getByRole('button', { name }).first().click();
const asked = async (page: Page) => {
  await page.getByLabel('Question').fill('How long do refunds take?');
  await page.keyboard.press('Enter');
  await page.locator('.result mark').first().waitFor();
  await page.getByRole('button', { name: 'How it was found' }).first().click();
  await page.waitForLoadState('networkidle');
};

const places: readonly Place[] = [
  { name: 'overview', address: '' },
  { name: 'collections', address: 'collections' },
  { name: 'collection-new', address: 'collections', prepare: button('New collection') },
  { name: 'documents', address: 'documents?collection=handbook' },
  { name: 'document', address: 'document?collection=handbook&path=handbook.pdf&page=2' },
  { name: 'document-failed', address: 'document?collection=handbook&path=scans%2Fbroken.pdf' },
  { name: 'upload', address: 'upload?collection=handbook' },
  { name: 'playground', address: 'playground?collection=handbook', prepare: asked },
  { name: 'keys', address: 'keys' },
  { name: 'key-new', address: 'keys', prepare: button('Create key') },
  { name: 'members', address: 'members' },
  { name: 'member-invite', address: 'members', prepare: button('Invite somebody') },
  { name: 'usage', address: 'usage' },
  { name: 'audit', address: 'audit' },
  { name: 'organization', address: 'organization' },
  { name: 'organization-delete', address: 'organization', prepare: button('Delete organisation') },
  { name: 'organizations', address: 'organizations' },
  { name: 'settings', address: 'settings' },
  { name: 'admin', address: 'admin' },
  { name: 'admin-organization', address: 'admin', prepare: button('Open') },
  { name: 'billing', address: 'billing' },
  { name: 'nowhere', address: 'nowhere' },
  { name: 'docs', address: '/docs' },
];

/** The README shows these; `npm run pictures` takes them anew. */
const inReadme = ['overview', 'playground'];
const pictures = join(dirname(compiledRoot), 'web', 'pictures');

export async function pagesStory(t: Test, browser: Browser): Promise<void> {
  const server = await TestServer.start(t, { ...mailOf(t), ADMIN_PASSWORD_HASH: hashed() });
  await fill(server);
  const first = await openPage(t, browser);
  await signInAgain(first.page, server);
  await signInAsAdministrator(first.page, server);
  const storageState = await first.context.storageState();
  for (const [look, options] of Object.entries(looks)) {
    const outside = await openPage(t, browser, options);
    await outside.context.addInitScript(watchShifts);
    if (options.colorScheme === 'light') await answerSlowly(outside.context);
    await outside.page.goto(`${server.url}/app/`);
    await outside.page.getByRole('heading', { name: 'Sign in to Quarry' }).waitFor();
    await outside.page.waitForLoadState('networkidle');
    await inspect(t, outside.page, `sign-in-${look}`);
    const inside = await openPage(t, browser, { ...options, storageState });
    await inside.context.addInitScript(watchShifts);
    if (options.colorScheme === 'light') await answerSlowly(inside.context);
    for (const place of places) {
      await visit(inside.page, server, place);
      await inspect(t, inside.page, `${place.name}-${look}`);
    }
    t.same([...outside.troubles, ...inside.troubles], [], look);
    await inside.context.close();
    await outside.context.close();
  }
  if (process.env.README_PICTURES === 'write') {
    const { page } = await openPage(t, browser, { ...looks.light, storageState });
    for (const place of places.filter(({ name }) => inReadme.includes(name))) {
      await visit(page, server, place);
      await page.screenshot({ path: join(pictures, `${place.name}.png`), animations: 'disabled' });
    }
  }
}

/** Beside the session that there is. */
export async function signInAsAdministrator(page: Page, server: TestServer): Promise<void> {
  await page.goto(`${server.url}/app/admin`);
  await page.getByLabel('Password of the administrator').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('table', { name: 'Organisations' }).waitFor();
}

async function visit(page: Page, server: TestServer, { address, prepare }: Place): Promise<void> {
  await page.goto(address.startsWith('/') ? server.url + address : `${server.url}/app/${address}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForLoadState('networkidle');
  await prepare?.(page);
}

/** Answers come late and one after the other, so that whatever moves for one of them is seen to move. */
async function answerSlowly(context: BrowserContext): Promise<void> {
  let calls = 0;
  await context.route(/\/(v1|api)\//, async (route) => {
    calls += 1;
    await sleep(150 + (calls % 3) * 100);
    await route.continue();
  });
}

/** Not the least thing. */
const shiftsMax = 0.0005;

/** Sums up by how much things moved that nobody touched, and notes which. */
const watchShifts = `
  window.shifts = 0;
  window.moved = [];
  new PerformanceObserver((list) => {
    for (const { hadRecentInput, value, sources } of list.getEntries()) {
      if (hadRecentInput) continue;
      window.shifts += value;
      window.moved.push(...sources.map(({ node }) => (node?.outerHTML ?? node?.textContent ?? '').slice(0, 80)));
    }
  }).observe({ type: 'layout-shift', buffered: true });
`;

export async function inspect(t: Test, page: Page, name: string): Promise<void> {
  await keepScreen(page, name);
  t.same(await graveFindings(page), [], `${name}: axe`);
  const [room, width] = await page.evaluate<[number, number]>(
    '[document.documentElement.scrollWidth, window.innerWidth]',
  );
  t.ok(room <= width, `${name}: nothing reaches over the edge (${room} of ${width})`);
  t.same(await page.evaluate(squeezed), [], `${name}: everything that says something has room`);
  const [shifts, moved] = await page.evaluate<[number | undefined, unknown]>('[window.shifts, window.moved]');
  t.ok((shifts ?? 0) < shiftsMax, `${name}: nothing moves while it loads (${shifts})`, { moved });
}

/** What has words and less room than a few letters of them need. */
const squeezed = `
  [...document.querySelectorAll('main :is(a, button, td, .cut)')]
    .filter((each) => each.checkVisibility() && each.closest('.unseen') === null && each.textContent.trim().length > 3)
    .filter((each) => [each, each.closest('.cut') ?? each].some((one) => one.getBoundingClientRect().width < 24))
    .map((each) => each.outerHTML.slice(0, 120))
`;

let mails: () => string[];

function mailOf(t: Test) {
  const box = outbox(t);
  mails = box.mails;
  return { MAIL_URL: box.url };
}

/** Of the administrator's password. */
export function hashed(): string {
  const cli = join(compiledRoot, 'src', 'cli', 'main.js');
  return execFileSync('env', ['-u', 'NODE_OPTIONS', process.execPath, cli, 'hash-password'], {
    input: `${password}\n`,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
    .toString()
    .trim();
}

const topics = [
  'parking',
  'holidays',
  'travel',
  'security',
  'onboarding',
  'invoices',
  'meetings',
  'equipment',
];

/** Some of everything that the pages show. */
async function fill(server: TestServer): Promise<void> {
  const api = new Api(server);
  for (const collection_name of ['handbook', 'contracts', 'support mails'])
    await api.call('collections/add-collection', { collection_name });
  const pdf = (bytes: Uint8Array) =>
    ({ type: 'auto', base64_data: Buffer.from(bytes).toString('base64') }) as const;
  await api.add('handbook', 'handbook.pdf', pdf(handbook), {
    metadata: { author: 'Ada Lovelace', year: '2026' },
  });
  await api.add('handbook', 'scans/broken.pdf', pdf(Buffer.from('%PDF-1.7\nnothing behind it')));
  await api.addAll(
    'handbook',
    topics.flatMap((topic) =>
      [2024, 2025, 2026].map((year) => ({
        path: `policies/${year}/${topic}.md`,
        content: {
          type: 'text',
          text: `# ${topic}\n\nWhat held for ${topic} in ${year}, in a few words.`,
        } as const,
        metadata: { year: String(year), topic },
      })),
    ),
  );
  for (const query of [...topics, 'How long do refunds take?']) await api.find('handbook', query);
  const organization_id = /First organization: (\S+)/.exec(server.printed)?.[1] ?? '';
  await withPeople(server, organization_id);
}

async function withPeople(server: TestServer, organization_id: string): Promise<void> {
  const operator = await operatorOf(server);
  await operator('organizations/update-organization', { organization_id, name: 'Lovelace & Co.' });
  await operator('users/edit-user', { name: 'Ada Lovelace' });
  const grace = new Person('grace@example.com', server, mails);
  await grace.signIn();
  await grace.call('users/edit-user', { name: 'Grace Hopper' });
  for (const [email, permission] of [
    [grace.email, 'ADMIN'],
    ['katherine@example.com', 'MEMBER'],
    ['annie@example.com', 'MEMBER'],
  ])
    await operator('organizations/users/invite-user', { organization_id, email, permission });
  const invite_code = /eyJ[\w-]+\.[\w-]+\.[\w-]+/.exec(await grace.mailWith('invites you'))?.[0];
  await grace.call('organizations/users/accept-invite', { invite_code });
  await grace.call('organizations/add-organization', { name: 'Compilers United' });
  const expires_at = new Date(Date.now() + 30 * 86_400_000).toISOString();
  const restriction = { collection_names: ['handbook'], filter: { year: '2026' } };
  for (const more of [
    { name: 'Website', permission: 'read_only', restriction },
    { name: 'Nightly import', permission: 'all' },
    { name: 'Contractor', permission: 'read_only', expires_at },
  ])
    await operator('organizations/api-keys/add-api-key', { organization_id, ...more });
}

/** Calls of the account side by whoever runs the server. */
async function operatorOf(server: TestServer) {
  const cli = join(compiledRoot, 'src', 'cli', 'main.js');
  const link = execFileSync('env', ['-u', 'NODE_OPTIONS', process.execPath, cli, 'login-link'], {
    env: { ...process.env, QUARRY_URL: server.url, QUARRY_DATA: server.data },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const signedIn = await fetch(link.toString().trim(), { headers: { accept: 'application/json' } });
  const { access_token } = (await signedIn.json()) as { access_token: string };
  return async (operation: string, body: object) => {
    const reply = await fetch(`${server.url}/api/${operation}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!reply.ok) throw new Error(`${operation} answered ${reply.status}: ${await reply.text()}`);
  };
}
