import type { Browser } from 'playwright-core';
import { buildPdf } from '../parsing/pdf-fixtures.ts';
import type { Test } from '../support/tap.ts';
import { blankHeight, openPage, ringClippers, seriousFindings } from './browser.ts';
import { waitFor } from './checked-api-client.ts';
import { openSearchPage, signInAsOperator, upload } from './dashboard-actions.ts';
import { TestServer } from './server.ts';

export const handbook = buildPdf([
  'Welcome to Larkspur Outdoor. This handbook answers the questions of new colleagues.',
  'Refunds are paid within fourteen days after the goods came back.',
  'Plan holidays at least one month ahead, and agree on the dates with your team.',
]);

/** Scenario: from the link printed at startup to a highlighted answer beside the image of its page. */
export async function firstRunScenario(t: Test, browser: Browser): Promise<void> {
  const server = await TestServer.start(t);
  const { page, problems } = await openPage(t, browser);
  await signInAsOperator(page, server);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  t.same(await seriousFindings(page), [], 'no serious axe findings on the first page');

  await page.getByRole('link', { name: 'Upload documents' }).click();
  await upload(page, 'handbook.pdf', handbook);
  await page.getByText('1 file uploaded · all files are searchable').waitFor();
  await page.getByRole('link', { name: 'View documents' }).click();
  const documents = page.getByRole('table', { name: 'Documents' });
  await documents.getByRole('link', { name: 'handbook.pdf' }).waitFor();
  await documents.getByText('Indexed', { exact: true }).waitFor();
  t.same(await ringClippers(documents.getByRole('checkbox')), [], 'the focus ring of a row is complete');

  await openSearchPage(page);
  await page.getByLabel('Query').fill('How long do refunds take?');
  await page.keyboard.press('Enter');
  const answers = page.getByRole('region', { name: 'Results' });
  const first = answers.getByRole('listitem').first();
  await first.getByText('Refunds are paid within fourteen days').waitFor();
  t.ok((await first.locator('mark').allTextContents()).includes('Refunds'), 'the match is highlighted');
  await first.getByText('pages 1–3').waitFor();
  t.equal(
    await first.locator('.best-sentence').textContent(),
    'Refunds are paid within fourteen days after the goods came back.',
  );

  await page.getByText('Pages', { exact: true }).click();
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  await first.getByText('page 2', { exact: true }).waitFor();
  await first.getByAltText('Page 2 of handbook.pdf').waitFor();
  await waitFor('the page image is loaded', async () =>
    (await page.evaluate<number>(`document.querySelector('.result img').naturalWidth`)) > 0 ? true : null,
  );

  await page.waitForURL(/#q=How\+long.*&type=pages$/);
  await page.reload();
  await first.getByText('page 2', { exact: true }).waitFor();
  t.equal(await page.getByLabel('Query').inputValue(), 'How long do refunds take?', 'kept in the URL');
  await page.goto(page.url().replace('/app/search', '/app/playground'));
  await page.waitForURL(/\/app\/search(\?.*)?#q=How\+long.*&type=pages$/);
  await first.getByText('page 2', { exact: true }).waitFor();

  await first.getByText(/^(Strong|Good) match/).waitFor();
  const note = page.getByText('No good match.');
  t.equal(await note.count(), 0);
  await page.getByLabel('Query').fill('volcanic islands');
  await page.keyboard.press('Enter');
  await note.waitFor();
  await first.getByText(/^Weak match/).waitFor();

  for (const name of ['Overview', 'Usage']) {
    await page.getByRole('link', { name, exact: true }).click();
    await page.getByRole('heading', { level: 1, name }).waitFor();
    await page.getByRole('table').first().waitFor({ state: 'attached' });
    t.equal(await blankHeight(page), 0, `${name} has no blank space`);
  }
  // The percentiles of the queries above.
  await page
    .locator('.statistics dd')
    .getByText(/^\d[\d,.]* ms$/)
    .nth(2)
    .waitFor();
  t.same(problems, []);
}
