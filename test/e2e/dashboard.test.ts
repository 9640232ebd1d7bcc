import t from 'tap';
import { fileMsMax } from '../waiting.ts';
import { noBrowser, openBrowser } from './browser.ts';
import { firstRunStory } from './dashboard-first-run.ts';

/** The shortest story of the dashboard; `dashboard.slow.ts` plays all of them. */

t.setTimeout(fileMsMax);

t.test('somebody new gets from the printed link to the first good answer', { skip: noBrowser }, async (t) => {
  await firstRunStory(t, await openBrowser(t));
});
