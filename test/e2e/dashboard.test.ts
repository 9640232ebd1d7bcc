import t from 'tap';
import { testFileMsMax } from '../timeouts.ts';
import { browserSkipReason, openBrowser } from './browser.ts';
import { firstRunStory } from './dashboard-first-run.ts';

/** The shortest dashboard scenario; `dashboard.slow.ts` runs all of them. */

t.setTimeout(testFileMsMax);

t.test(
  'somebody new gets from the printed link to the first good answer',
  { skip: browserSkipReason },
  async (t) => {
    await firstRunStory(t, await openBrowser(t));
  },
);
