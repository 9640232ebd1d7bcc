import type { Browser } from 'playwright-core';
import type { Test } from '../support/tap.ts';
import { openPage } from './browser.ts';
import { signInByMail } from './dashboard-actions.ts';
import { freePort } from './free-port.ts';
import { createMailFolder, TestUser } from './people.ts';
import { TestServer } from './server.ts';
import { startVercelEmulator } from './vercel-emulator.ts';

/** Scenario: a user installs the Vercel integration, checks the account, binds it, and is redirected back. */
export async function marketplaceScenario(t: Test, browser: Browser): Promise<void> {
  const { url: MAIL_URL, mails } = createMailFolder(t);
  const vercel = await startVercelEmulator(t);
  const port = await freePort();
  const server = await TestServer.start(t, {
    PORT: `${port}`,
    BASE_URL: `http://127.0.0.1:${port}`,
    TRUST_PROXY: 'true',
    MAIL_URL,
    VERCEL_CLIENT_ID: 'oac_1',
    VERCEL_CLIENT_SECRET: 'a-secret',
    VERCEL_TIER: 'starter',
    VERCEL_API_URL: vercel.url,
  });
  const ann = new TestUser('ann@example.com', server, mails);
  const { page } = await openPage(t, browser);
  await page.route('https://vercel.com/**', (route) => route.fulfill({ body: 'Back in Vercel' }));
  const install = `${server.url}/api/marketplaces/vercel?code=good&next=https%3A%2F%2Fvercel.com%2Fdone`;

  await signInByMail(page, `${server.url}/app/`, ann);
  vercel.variablesReply = { status: 403, body: {} };
  await page.goto(install);
  const consent = page.getByText('Vercel account');
  await consent.waitFor();
  const words = await consent.textContent();
  t.match(words, /account team_1, installation icfg_1/, 'verified ids come first');
  t.match(words, /The account name “the-team” was chosen by its owner and is not verified/);
  await page.getByText('is stored in the projects of team_1 that were selected in Vercel').waitFor();
  await page.getByLabel('Name of the new organization').fill('Acme');
  await page.getByRole('button', { name: 'Link to organization' }).click();
  await page.getByText('Vercel rejected the environment variables').waitFor();
  t.match(page.url(), server.url, 'an error does not redirect');
  await page.getByRole('link', { name: 'Back to Vercel' }).click();
  await page.getByText('Back in Vercel').waitFor();

  vercel.variablesReply = { status: 201, body: { created: [], failed: [] } };
  await page.goto(install);
  await page.getByRole('button', { name: 'Link to organization' }).click();
  await page.getByText('Back in Vercel').waitFor();
  t.match(vercel.projects.prj_1?.ZEROENTROPY_API_KEY, /^ze_/);

  await page.goto(`${server.url}/app/keys`);
  await page.getByText('Vercel', { exact: true }).waitFor();
}
