import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { browserSkipReason, openBrowser } from './browser.ts';
import { firstRunScenario } from './dashboard-first-run.ts';

/** The shortest dashboard scenario; `dashboard.slow.ts` runs all of them. */

t.setTimeout(testFileMsMax);

t.test(
  'a new user gets from the printed link to a first search result',
  { skip: browserSkipReason },
  async (t) => {
    await firstRunScenario(t, await openBrowser(t));
  },
);
