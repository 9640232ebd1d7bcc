import type { Page } from 'playwright-core';
import { runQuarry } from '../cli/quarry.ts';
import type { TestUser } from './people.ts';
import type { TestServer } from './server.ts';

/** Sign-in and input actions shared by the dashboard scenarios. */

/** Signs in with the one-time link that the server prints at startup. */
export async function signInAsOperator(page: Page, server: TestServer): Promise<void> {
  await openOperatorLink(page, /https?:\S+verify\?token=\S+/.exec(server.printedText)?.[0]);
}

/** Signs in with a link created by the command line on the server's machine. */
export async function signInAgain(page: Page, server: TestServer): Promise<void> {
  const loginLink = await runQuarry(['login-link'], {
    variables: { QUARRY_URL: server.url, QUARRY_DATA: server.data },
  });
  await openOperatorLink(page, loginLink.out.trim());
}

async function openOperatorLink(page: Page, link = 'no link'): Promise<void> {
  await page.goto(link);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL('**/app/');
}

/** Opens a page, requests a link, opens it from the mail in the same browser, and arrives at the page. */
export async function signInByMail(page: Page, address: string, user: TestUser): Promise<void> {
  await page.goto(address);
  await page.getByLabel('Email').fill(user.email);
  await page.getByRole('button', { name: 'Email me a sign-in link' }).click();
  await page.getByText('Check your inbox').waitFor();
  await page.goto(await user.link());
}

/** Selects a file as a user does. */
export async function upload(page: Page, name: string, bytes: Uint8Array): Promise<void> {
  const file = { name, mimeType: 'application/octet-stream', buffer: Buffer.from(bytes) };
  await page.getByLabel('Files to upload').setInputFiles(file);
}

/** Opens the search page from the navigation. */
export async function openSearchPage(page: Page): Promise<void> {
  await openNavigationEntry(page, 'Search');
}

export async function openNavigationEntry(page: Page, name: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true }).click();
  await page.getByRole('heading', { name, level: 1, exact: true }).waitFor();
}

/** Presses Tab until the element has the focus, as a user without a pointer does. */
export async function focusByTab(page: Page, target: ReturnType<Page['getByRole']>): Promise<void> {
  for (let presses = 0; presses < 80; presses += 1) {
    const focused = await target
      .first()
      .evaluate((element) => element === element.ownerDocument.activeElement);
    if (focused) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`the keyboard does not reach ${target}`);
}
