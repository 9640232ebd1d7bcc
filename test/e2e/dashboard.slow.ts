import t from 'tap';
import { browserSkipReason, openBrowser } from './browser.ts';
import { billingStory } from './dashboard-billing.ts';
import { expiredSessionStory, folderUploadStory, offlineStory, uploadStory } from './dashboard-errors.ts';
import { firstRunStory } from './dashboard-first-run.ts';
import { injectionStory } from './dashboard-injection.ts';
import { focusStory, keyboardStory } from './dashboard-keyboard.ts';
import { largeDocumentListStory, largeListsStory } from './dashboard-large-lists.ts';
import { marketplaceStory } from './dashboard-marketplace.ts';
import { pagesStory } from './dashboard-pages.ts';
import { secondFactorStory } from './dashboard-second-factor.ts';
import { administratorStory, providerStory } from './dashboard-sign-in.ts';
import { statesStory } from './dashboard-states.ts';
import { switchingStory } from './dashboard-switching.ts';
import { teamStory } from './dashboard-team.ts';

/** All dashboard scenarios in a real browser against a real server. Screenshots are saved in `dist/screens`. */

t.setTimeout(3_600_000);

const stories = {
  'somebody new gets from the printed link to the first good answer': firstRunStory,
  'a team comes together, and a key lives and ends': teamStory,
  'an integration of Vercel is taken by whoever installed it': marketplaceStory,
  'somebody comes in by a provider, and learns why somebody else does not': providerStory,
  'the administrator comes in by a password, works, and finds the way back': administratorStory,
  'a second factor is set up, asked for at the next sign-in, and turned off': secondFactorStory,
  'an upload fails, is tried again, and replaces what was there': uploadStory,
  'a folder is dropped, minds are changed, and what is too large is not sent': folderUploadStory,
  'a session that ends in the middle of the work costs nothing': expiredSessionStory,
  'without the network nothing is lost, and the page goes on when it is back': offlineStory,
  'somebody pays, changes their mind, and Stripe goes away and comes back': billingStory,
  'the keyboard alone is enough': keyboardStory,
  'the focus is never lost': focusStory,
  'nothing that is stored ever runs': injectionStory,
  'each collection and each organisation shows only its own': switchingStory,
  'ten thousand documents are as easy as ten': largeDocumentListStory,
  'hundreds of collections, results and files come in parts': largeListsStory,
  'with nothing, while it loads and when it fails every page says so': statesStory,
  'every page can be used by everybody, in light and dark, wide and narrow': pagesStory,
} as const;

for (const [title, story] of Object.entries(stories)) {
  t.test(title, { skip: browserSkipReason }, async (t) => story(t, await openBrowser(t)));
}
