import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import { inspect, themes } from './dashboard-pages.ts';

/** A page that is higher is kept as far as a window of this height shows it. */
const heightMax = 4_000;

/** One moment of a story in every look, kept and inspected; the page is afterwards as it was. */
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
