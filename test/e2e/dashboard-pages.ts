import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import type { Test } from '../support/tap.ts';
import { blankHeight, openPage, saveScreenshot, seriousFindings } from './browser.ts';
import { CheckedApiClient, waitFor } from './checked-api-client.ts';
import { signInAgain } from './dashboard-actions.ts';
import { handbook } from './dashboard-first-run.ts';
import { type IntegrationOrigins, openIntegrationOrigins } from './dashboard-integrations.ts';
import { createMailFolder, TestUser } from './people.ts';
import { TestServer } from './server.ts';
import { synchronize } from './source-fixture.ts';

/** Every page with content: light and dark, wide and narrow. */

const compiledRoot = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const password = 'correct horse battery staple';

type Theme = Pick<BrowserContextOptions, 'colorScheme' | 'viewport'>;
export const themes: Readonly<Record<string, Theme>> = {
  light: { colorScheme: 'light', viewport: { width: 1_280, height: 800 } },
  dark: { colorScheme: 'dark', viewport: { width: 1_280, height: 800 } },
  'light-middle': { colorScheme: 'light', viewport: { width: 768, height: 800 } },
  'light-narrow': { colorScheme: 'light', viewport: { width: 320, height: 720 } },
  'dark-narrow': { colorScheme: 'dark', viewport: { width: 320, height: 720 } },
};

interface DashboardPage {
  readonly name: string;
  /** Relative to /app/, or to the root if it starts with a slash. */
  readonly path: string;
  /** Opens parts that the page does not show initially. */
  readonly prepare?: (page: Page) => Promise<unknown>;
}

const button = (name: string) => (page: Page) => page.getByRole('button', { name }).first().click();
const askQuestion = async (page: Page) => {
  await page.getByLabel('Query').fill('How long do refunds take?');
  await page.keyboard.press('Enter');
  await page.locator('.result mark').first().waitFor();
  await page.getByRole('button', { name: 'Show score details' }).first().click();
  await page.waitForLoadState('networkidle');
};

const compareModels = async (page: Page) => {
  await page.getByLabel('Compare with').selectOption('zembed-1');
  await page.getByRole('button', { name: 'Score texts' }).click();
  const scores = page.getByRole('table', { name: 'Scores' });
  await scores.getByText('#1').first().waitFor();
  await page.waitForLoadState('networkidle');
};

const sendRequest = async (page: Page) => {
  await page.getByRole('button', { name: 'Send request' }).click();
  await page.getByText('Status 200').waitFor();
};

const openWebhook = async (page: Page) => {
  await page.getByRole('table', { name: 'Webhooks' }).getByRole('link').first().click();
  await page.getByRole('table', { name: 'Deliveries' }).waitFor();
  await page.waitForLoadState('networkidle');
};

const dashboardPages: readonly DashboardPage[] = [
  { name: 'overview', path: '' },
  { name: 'collections', path: 'collections' },
  { name: 'collection-new', path: 'collections', prepare: button('New collection') },
  { name: 'collection', path: 'collection?name=handbook' },
  { name: 'collection-settings', path: 'collection?name=handbook&section=settings' },
  { name: 'documents', path: 'documents?collection=handbook' },
  { name: 'document', path: 'document?collection=handbook&path=handbook.pdf&page=2' },
  { name: 'document-failed', path: 'document?collection=handbook&path=scans%2Fbroken.pdf' },
  { name: 'upload', path: 'upload?collection=handbook' },
  { name: 'search', path: 'search?collection=handbook', prepare: askQuestion },
  { name: 'sources', path: 'sources' },
  { name: 'source', path: 'source?name=files' },
  { name: 'models', path: 'models', prepare: compareModels },
  { name: 'console', path: 'console?operation=get-collection-list', prepare: sendRequest },
  { name: 'keys', path: 'keys' },
  { name: 'key-new', path: 'keys', prepare: button('Create key') },
  { name: 'webhooks', path: 'webhooks' },
  { name: 'webhook', path: 'webhooks', prepare: openWebhook },
  { name: 'members', path: 'members' },
  { name: 'member-invite', path: 'members', prepare: button('Invite member') },
  { name: 'usage', path: 'usage' },
  { name: 'audit', path: 'audit' },
  { name: 'organization', path: 'organization' },
  { name: 'organization-delete', path: 'organization', prepare: button('Delete organization') },
  { name: 'organizations', path: 'organizations' },
  { name: 'settings', path: 'settings' },
  { name: 'admin', path: 'admin' },
  { name: 'admin-people', path: 'admin?section=people' },
  { name: 'admin-health', path: 'admin?section=health' },
  { name: 'admin-backups', path: 'admin?section=backups' },
  { name: 'admin-settings', path: 'admin?section=settings' },
  { name: 'admin-log', path: 'admin?section=log' },
  { name: 'admin-security', path: 'admin?section=security' },
  { name: 'admin-organization', path: 'admin', prepare: button('Open') },
  { name: 'billing', path: 'billing' },
  { name: 'nowhere', path: 'nowhere' },
  { name: 'docs', path: '/docs' },
  { name: 'docs-guide', path: '/docs/guides/search-options' },
  { name: 'docs-operations', path: '/docs/api/documents' },
  { name: 'docs-search', path: '/docs/search?q=backup' },
];

/** Screenshots used in the README; `npm run pictures` updates them. */
const readmeScreenshots = ['overview', 'search'];
const pictures = join(dirname(compiledRoot), 'web', 'pictures');

export async function pagesScenario(t: Test, browser: Browser): Promise<void> {
  const origins = await openIntegrationOrigins(t);
  const server = await TestServer.start(t, {
    ...mailFolderOf(t),
    ...origins.variables,
    ADMIN_PASSWORD_HASH: administratorPasswordHash(),
  });
  await fill(server);
  await addIntegrations(server, origins);
  const first = await openPage(t, browser);
  await signInAgain(first.page, server);
  await signInAsAdministrator(first.page, server);
  const storageState = await first.context.storageState();
  for (const [theme, options] of Object.entries(themes)) {
    const outside = await openPage(t, browser, options);
    await outside.context.addInitScript(layoutShiftScript);
    if (options.colorScheme === 'light') await delayReplies(outside.context);
    await outside.page.goto(`${server.url}/app/`);
    await outside.page.getByRole('heading', { name: 'Sign in to Quarry' }).waitFor();
    await outside.page.waitForLoadState('networkidle');
    await inspect(t, outside.page, `sign-in-${theme}`);
    const inside = await openPage(t, browser, { ...options, storageState });
    await inside.context.addInitScript(layoutShiftScript);
    if (options.colorScheme === 'light') await delayReplies(inside.context);
    for (const dashboardPage of dashboardPages) {
      await openDashboardPage(inside.page, server, dashboardPage);
      await inspect(t, inside.page, `${dashboardPage.name}-${theme}`);
    }
    t.same([...outside.problems, ...inside.problems], [], theme);
    await inside.context.close();
    await outside.context.close();
  }
  if (process.env.README_PICTURES === 'write') {
    const { page } = await openPage(t, browser, { ...themes.light, storageState });
    for (const dashboardPage of dashboardPages.filter(({ name }) => readmeScreenshots.includes(name))) {
      await openDashboardPage(page, server, dashboardPage);
      await page.screenshot({ path: join(pictures, `${dashboardPage.name}.png`), animations: 'disabled' });
    }
  }
}

/** Signs in as administrator in addition to the current session. */
export async function signInAsAdministrator(page: Page, server: TestServer): Promise<void> {
  await page.goto(`${server.url}/app/admin`);
  await page.getByLabel('Administrator password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('table', { name: 'Organizations' }).waitFor();
}

async function openDashboardPage(
  page: Page,
  server: TestServer,
  { path: address, prepare }: DashboardPage,
): Promise<void> {
  await page.goto(address.startsWith('/') ? server.url + address : `${server.url}/app/${address}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForLoadState('networkidle');
  await prepare?.(page);
}

/** Delays replies by different amounts, so that layout shifts caused by any of them are detected. */
async function delayReplies(context: BrowserContext): Promise<void> {
  let calls = 0;
  await context.route(/\/(v1|api)\//, async (route) => {
    calls += 1;
    await sleep(150 + (calls % 3) * 100);
    await route.continue();
  });
}

/** Maximum layout shift score. */
const shiftsMax = 0.0005;

/** Sums layout shifts without recent input and records the shifted elements. */
const layoutShiftScript = `
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
  await saveScreenshot(page, name);
  t.same(await seriousFindings(page), [], `${name}: axe`);
  const [availableWidth, width] = await page.evaluate<[number, number]>(
    '[document.documentElement.scrollWidth, window.innerWidth]',
  );
  t.ok(availableWidth <= width, `${name}: no horizontal overflow (${availableWidth} of ${width})`);
  t.equal(await blankHeight(page), 0, `${name}: no blank space below the content`);
  t.same(await page.evaluate(squeezedTextScript), [], `${name}: no squeezed text`);
  const [shifts, moved] = await page.evaluate<[number | undefined, unknown]>('[window.shifts, window.moved]');
  t.ok((shifts ?? 0) < shiftsMax, `${name}: no layout shift (${shifts})`, { moved });
}

/** Finds elements whose text has less width than a few letters. */
const squeezedTextScript = `
  [...document.querySelectorAll('main :is(a, button, td, .cut)')]
    .filter((each) => each.checkVisibility() && each.closest('.visually-hidden') === null && each.textContent.trim().length > 3)
    .filter((each) => [each, each.closest('.cut') ?? each].some((one) => one.getBoundingClientRect().width < 24))
    .map((each) => each.outerHTML.slice(0, 120))
`;

let mails: () => string[];

function mailFolderOf(t: Test) {
  const box = createMailFolder(t);
  mails = box.mails;
  return { MAIL_URL: box.url };
}

/** Hash of the administrator's password. */
export function administratorPasswordHash(): string {
  const cli = join(compiledRoot, 'src', 'cli', 'main.js');
  return execFileSync('env', ['-u', 'NODE_OPTIONS', process.execPath, cli, 'hash-password'], {
    input: `${password}\n`,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
    .toString()
    .trim();
}

const sampleFolder = join(dirname(compiledRoot), 'samples', 'handbook');

const teams: Readonly<Record<string, string>> = {
  'refunds-and-returns.md': 'support',
  'support-hours.md': 'support',
  'information-security.md': 'security',
  'equipment-loan.md': 'warehouse',
};

const questions = [
  'How long do refunds take?',
  'How many days of holiday do I have?',
  'My laptop was stolen. What should I do?',
  'May I work from another country?',
  'May I borrow a tent?',
  'When is support available?',
];

/** Creates sample data for all pages. */
async function fill(server: TestServer): Promise<void> {
  const api = new CheckedApiClient(server);
  for (const collection_name of ['handbook', 'contracts', 'support mails'])
    await api.call('collections/add-collection', { collection_name });
  const pdf = (bytes: Uint8Array) =>
    ({ type: 'auto', base64_data: Buffer.from(bytes).toString('base64') }) as const;
  await api.add('handbook', 'handbook.pdf', pdf(handbook), {
    metadata: { author: 'Ada Lovelace', year: '2026' },
  });
  await api.add('handbook', 'scans/broken.pdf', pdf(Buffer.from('%PDF-1.7\nno objects')));
  await api.addAll(
    'handbook',
    readdirSync(sampleFolder).map((name) => ({
      path: `policies/${name}`,
      content: { type: 'text', text: readFileSync(join(sampleFolder, name), 'utf8') } as const,
      metadata: { year: '2026', team: teams[name] ?? 'people' },
    })),
  );
  for (const query of questions) await api.find('handbook', query);
  const organization_id = /First organization: (\S+)/.exec(server.printedText)?.[1] ?? '';
  await createTeam(server, organization_id);
}

/** A source with an item that fails, and a webhook with deliveries. */
async function addIntegrations(server: TestServer, { folder, url }: IntegrationOrigins): Promise<void> {
  const api = new CheckedApiClient(server);
  const added = await api.call('webhooks/add-webhook', { url, description: 'Cache of the help center' });
  for (const name of ['foreign.txt', 'travel.txt']) writeFileSync(join(folder, name), `Text of ${name}`);
  await api.add('contracts', 'files/foreign.txt', 'Of another client.');
  await api.call('sources/add-source', {
    source_name: 'files',
    collection_name: 'contracts',
    directory: { path: folder },
    prefix: 'files/',
    schedule: 'off',
    metadata: { team: 'travel' },
  });
  await synchronize(api, 'files');
  const { webhook_id } = added as unknown as { webhook_id: string };
  await waitFor('a delivery', async () => {
    const { deliveries } = await api.call('webhooks/list-deliveries', { webhook_id });
    return deliveries.length >= 4 ? true : null;
  });
}

async function createTeam(server: TestServer, organization_id: string): Promise<void> {
  const operator = await signInOperator(server);
  await operator('organizations/update-organization', { organization_id, name: 'Lovelace & Co.' });
  await operator('users/edit-user', { name: 'Ada Lovelace' });
  const invitedUser = new TestUser('grace@example.com', server, mails);
  await invitedUser.signIn();
  await invitedUser.call('users/edit-user', { name: 'Grace Hopper' });
  for (const [email, permission] of [
    [invitedUser.email, 'ADMIN'],
    ['katherine@example.com', 'MEMBER'],
    ['annie@example.com', 'MEMBER'],
  ])
    await operator('organizations/users/invite-user', { organization_id, email, permission });
  const invite_code = await invitedUser.findInviteCode();
  await invitedUser.call('organizations/users/accept-invite', { invite_code });
  await invitedUser.call('organizations/add-organization', { name: 'Compilers United' });
  const expires_at = new Date(Date.now() + 30 * 86_400_000).toISOString();
  const restriction = { collection_names: ['handbook'], filter: { year: '2026' } };
  for (const more of [
    { name: 'Website', permission: 'read_only', restriction },
    { name: 'Nightly import', permission: 'all' },
    { name: 'Contractor', permission: 'read_only', expires_at },
  ])
    await operator('organizations/api-keys/add-api-key', { organization_id, ...more });
}

/** Signs in as the operator; returns a function that calls the account API. */
async function signInOperator(server: TestServer) {
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
    if (!reply.ok) throw new Error(`${operation} returned ${reply.status}: ${await reply.text()}`);
  };
}
