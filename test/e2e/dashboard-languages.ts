import type { Browser, Page } from 'playwright-core';
import type { Test } from '../support/tap.ts';
import { openPage } from './browser.ts';
import { signInAsOperator } from './dashboard-actions.ts';
import { inspectInAllThemes } from './dashboard-themes.ts';
import { TestServer } from './server.ts';

/** Scenario: the dashboard has the language of the browser until the user selects another one. */
export async function languagesScenario(t: Test, browser: Browser): Promise<void> {
  const server = await TestServer.start(t);
  const { page, problems } = await openPage(t, browser, { locale: 'de-AT' });
  await page.goto(`${server.url}/app/`);
  await page.getByRole('heading', { name: 'Bei Quarry anmelden' }).waitFor();
  t.equal(await languageOf(page), 'de');
  await signInAsOperator(page, server);
  await page.getByRole('heading', { name: 'Übersicht' }).waitFor();
  await page.getByRole('link', { name: 'Sammlungen' }).click();
  await page.getByRole('heading', { name: 'Noch keine Sammlungen' }).waitFor();
  await inspectInAllThemes(t, page, 'collections-german');

  await page.getByRole('button', { name: /: Konto und Darstellung$/ }).click();
  await page.getByRole('combobox', { name: 'Sprache' }).selectOption('日本語');
  await page.getByRole('heading', { name: 'コレクションはまだありません' }).waitFor();
  t.equal(await languageOf(page), 'ja');
  await page.reload();
  await page.getByRole('heading', { name: 'コレクションはまだありません' }).waitFor();
  await inspectInAllThemes(t, page, 'collections-japanese');

  await page.getByRole('button', { name: /: アカウントと表示$/ }).click();
  await page.getByRole('combobox', { name: '言語' }).selectOption('English');
  await page.getByRole('heading', { name: 'No collections yet' }).waitFor();
  t.equal(await languageOf(page), 'en');
  await page.getByRole('button', { name: /: account and appearance$/ }).click();
  await page.getByRole('combobox', { name: 'Language' }).selectOption('Browser language');
  await page.getByRole('heading', { name: 'Noch keine Sammlungen' }).waitFor();
  t.same(problems, []);
}

async function languageOf(page: Page): Promise<string> {
  return page.evaluate<string>('document.documentElement.lang');
}
