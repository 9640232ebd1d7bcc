import type { Browser, Page, Route } from 'playwright-core';
import type { Test } from '../support/tap.ts';
import { BillingFixture } from './billing-fixture.ts';
import { openPage, saveScreenshot, seriousFindings } from './browser.ts';
import { signInAsOperator } from './dashboard-actions.ts';
import { administratorPasswordHash, signInAsAdministrator } from './dashboard-pages.ts';

/** Every page empty, while loading, and when loading fails. */

const themes = {
  light: { colorScheme: 'light', viewport: { width: 1_280, height: 800 } },
  'dark-narrow': { colorScheme: 'dark', viewport: { width: 320, height: 720 } },
} as const;

/** Text on each page for a user without data. */
const emptyStateTexts = {
  '': 'Follow these steps to get started.',
  collections: 'No collections yet',
  'collection?name=none': 'Collection not found',
  documents: 'No documents yet',
  'document?collection=a&path=b': 'Document not found',
  upload: 'Drop files or folders here',
  search: 'No documents to search',
  sources: 'No sources yet',
  'source?name=none': 'Source not found',
  models: 'Try a model',
  keys: 'Read and write',
  webhooks: 'No webhooks yet',
  'webhook?id=none': 'Webhook not found',
  members: 'No pending invitations.',
  usage: 'Total',
  audit: 'Organization created',
  billing: 'No invoices yet',
  admin: '1 organization',
  'admin?section=people': '1 user',
  'admin?section=health': 'Data directory',
  'admin?section=settings': 'QUARRY_PORT',
  'admin?section=log': 'collections 0',
  organization: 'Danger zone',
  organizations: 'Create an organization',
  settings: 'Active sessions',
} as const;
/** Page that needs no request besides the session. */
const pageWithoutRequests = 'organizations';

const detail = 'The store is not responding. Try again shortly.';
const isSession = (route: Route) => route.request().url().endsWith('/get-user');
const failRequest = (route: Route) =>
  isSession(route) ? route.continue() : route.fulfill({ status: 500, json: { detail } });
const holdRequest = (route: Route) => (isSession(route) ? route.continue() : undefined);
const apiPaths = /\/(v1|api)\//;

export async function statesScenario(t: Test, browser: Browser): Promise<void> {
  const { server } = await BillingFixture.start(t, '2027-03-10T12:00:00Z', {
    ADMIN_PASSWORD_HASH: administratorPasswordHash(),
  });
  const first = await openPage(t, browser);
  await signInAsOperator(first.page, server);
  await signInAsAdministrator(first.page, server);
  const storageState = await first.context.storageState();
  for (const [theme, options] of Object.entries(themes)) {
    const { page, context, problems } = await openPage(t, browser, { ...options, storageState });
    for (const [address, text] of Object.entries(emptyStateTexts)) {
      const name = `${/^\w*/.exec(address)?.[0] || 'overview'}-%-${theme}`;
      const open = async () => {
        await page.goto(`${server.url}/app/${address}`);
        await page.getByRole('heading', { level: 1 }).waitFor();
      };
      await open();
      await page.locator('main').getByText(text).first().waitFor();
      await inspect(t, page, name.replace('%', 'empty'));
      if (address === pageWithoutRequests) continue;

      await page.route(apiPaths, holdRequest);
      await open();
      await page.locator('.skeleton, .waiting, [disabled]').first().waitFor();
      await inspect(t, page, name.replace('%', 'loading'));
      await page.unroute(apiPaths);

      await page.route(apiPaths, failRequest);
      await open();
      const alert = page.getByRole('alert').filter({ hasText: detail }).first();
      await alert.waitFor();
      await inspect(t, page, name.replace('%', 'error'));
      // Some pages also reload by themselves: the alert may be gone before a click on the page reaches the button.
      const button = await alert.getByRole('button', { name: 'Retry' }).elementHandle();
      await page.unroute(apiPaths);
      await button!.dispatchEvent('click');
      await page.locator('main').getByText(text).first().waitFor();
    }
    t.same(
      problems.filter((line) => !/status of (404|500)/.test(line)),
      [],
      theme,
    );
    await context.close();
  }
}

async function inspect(t: Test, page: Page, name: string): Promise<void> {
  await saveScreenshot(page, name);
  t.same(await seriousFindings(page), [], `${name}: axe`);
  const [availableWidth, width] = await page.evaluate<[number, number]>(
    '[document.documentElement.scrollWidth, window.innerWidth]',
  );
  t.ok(availableWidth <= width, `${name}: no horizontal overflow (${availableWidth} of ${width})`);
}
