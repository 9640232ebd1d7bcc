import type { Page } from 'playwright-core';
import type { Test } from '../support/tap.ts';
import { inspect, themes } from './dashboard-pages.ts';

/** Maximum height of a screenshot; a taller page is cut off. */
const heightMax = 4_000;

/** Takes screenshots of the page in all themes and inspects them; restores the page afterwards. */
export async function inspectInAllThemes(t: Test, page: Page, name: string): Promise<void> {
  const before = page.viewportSize();
  for (const [theme, { colorScheme = 'light', viewport }] of Object.entries(themes)) {
    await page.emulateMedia({ colorScheme });
    if (viewport) {
      await page.setViewportSize(viewport);
      const height = await page.evaluate<number>('document.documentElement.scrollHeight');
      await page.setViewportSize({ ...viewport, height: Math.min(height, heightMax) });
    }
    await inspect(t, page, `${name}-${theme}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  if (before !== null) await page.setViewportSize(before);
}
