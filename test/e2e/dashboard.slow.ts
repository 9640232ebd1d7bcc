import t from '../support/tap.ts';
import { browserSkipReason, openBrowser } from './browser.ts';
import { answerScenario } from './dashboard-answers.ts';
import { billingScenario } from './dashboard-billing.ts';
import { curationsScenario } from './dashboard-curations.ts';
import { passageScenario, viewerScenario } from './dashboard-documents.ts';
import {
  expiredSessionScenario,
  folderUploadScenario,
  offlineScenario,
  uploadScenario,
} from './dashboard-errors.ts';
import { firstRunScenario } from './dashboard-first-run.ts';
import { injectionScenario } from './dashboard-injection.ts';
import { integrationsScenario } from './dashboard-integrations.ts';
import { focusScenario, keyboardScenario } from './dashboard-keyboard.ts';
import { languagesScenario } from './dashboard-languages.ts';
import { largeDocumentListScenario, largeListsScenario } from './dashboard-large-lists.ts';
import { marketplaceScenario } from './dashboard-marketplace.ts';
import { pagesScenario } from './dashboard-pages.ts';
import { passkeyJoinScenario } from './dashboard-passkey-join.ts';
import { passkeyScenario } from './dashboard-passkeys.ts';
import { passwordScenario } from './dashboard-passwords.ts';
import { searchScenario } from './dashboard-search.ts';
import { secondFactorScenario } from './dashboard-second-factor.ts';
import { shortcutsScenario } from './dashboard-shortcuts.ts';
import { administratorScenario, providerScenario } from './dashboard-sign-in.ts';
import { statesScenario } from './dashboard-states.ts';
import { switchingScenario } from './dashboard-switching.ts';
import { teamScenario } from './dashboard-team.ts';
import { typesScenario } from './dashboard-types.ts';

/** All dashboard scenarios in a real browser against a real server. Screenshots are saved in `dist/screens`. */

t.setTimeout(3_600_000);

const scenarios = {
  'a new user gets from the printed link to a first search result': firstRunScenario,
  'a user is invited, and an API key is created and revoked': teamScenario,
  'a user installs the Vercel integration and links it to an organization': marketplaceScenario,
  'a user signs in with an identity provider; an unverified address is rejected with a reason':
    providerScenario,
  'the administrator signs in with the password, uses each section and signs out': administratorScenario,
  'an invited user joins with a password on a server without mail, changes and replaces it': passwordScenario,
  'a passkey is added, signs in without an address, and is deleted by the administrator': passkeyScenario,
  'an invited user joins with a passkey, and the browser offers it in the email field at the next sign-in':
    passkeyJoinScenario,
  'two-factor authentication is set up, required at the next sign-in, and turned off': secondFactorScenario,
  'a failed upload is retried, and an upload replaces an existing document': uploadScenario,
  'a dropped folder is uploaded, uploads are canceled, and too large files are not sent':
    folderUploadScenario,
  'a result opens its document at the passage, and texts are shown with their structure': passageScenario,
  'pages are turned, zoomed and chosen by keys and thumbnails': viewerScenario,
  'a collection follows a folder, and a webhook receives its changes': integrationsScenario,
  'an expired session loses no input': expiredSessionScenario,
  'a network failure loses no input, and the page recovers automatically': offlineScenario,
  'plans are bought, changed and paused, and the page recovers after an outage of Stripe': billingScenario,
  'all actions work with the keyboard only': keyboardScenario,
  'the dashboard has the language of the browser, or the selected one': languagesScenario,
  'a search is filtered by conditions, compared, measured and repeated from the history': searchScenario,
  'a question is answered with citations that open their places in the documents': answerScenario,
  'rules that pin and hide documents are added, tried, edited and removed': curationsScenario,
  'the type of file filters the documents, and the type of result changes the search': typesScenario,
  'keys open the search, the list of shortcuts and the command palette': shortcutsScenario,
  'the focus is never lost': focusScenario,
  'stored values never run as code': injectionScenario,
  'collections and organizations show only their own data': switchingScenario,
  'ten thousand documents can be scrolled and filtered': largeDocumentListScenario,
  'hundreds of collections, results and files load in pages': largeListsScenario,
  'pages have an empty, a loading and an error state': statesScenario,
  'every page is accessible in light and dark, wide and narrow': pagesScenario,
} as const;

for (const [title, runScenario] of Object.entries(scenarios)) {
  t.test(title, { skip: browserSkipReason }, async (t) => runScenario(t, await openBrowser(t)));
}
