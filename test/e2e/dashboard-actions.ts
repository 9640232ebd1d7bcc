import type { Page } from 'playwright-core';
import { runQuarry } from '../cli/quarry.ts';
import type { TestUser } from './people.ts';
import type { TestServer } from './server.ts';

/** How people of the stories come in. */

/** By the link that the server printed at its start, which works once. */
export async function signInAsOperator(page: Page, server: TestServer): Promise<void> {
  await openOperatorLink(page, /https?:\S+verify\?token=\S+/.exec(server.printedText)?.[0]);
}

/** By a link that the command line makes on the machine of the server. */
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

/** At the address that they want to see: asks for a link, opens it from the mail in the same browser, and is there. */
export async function signInByMail(page: Page, address: string, user: TestUser): Promise<void> {
  await page.goto(address);
  await page.getByLabel('E-mail').fill(user.email);
  await page.getByRole('button', { name: 'Mail me a sign-in link' }).click();
  await page.getByText('Look into your mail').waitFor();
  await page.goto(await user.link());
}

/** A file as a person picks it. */
export async function upload(page: Page, name: string, bytes: Uint8Array): Promise<void> {
  const file = { name, mimeType: 'application/octet-stream', buffer: Buffer.from(bytes) };
  await page.getByLabel('Files to upload').setInputFiles(file);
}

/** Goes on with Tab until the focus is there, as somebody does who has no pointer. */
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
