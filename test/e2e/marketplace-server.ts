import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { startMarketplaces } from './marketplace-fixture.ts';

/** The server of `marketplaces.test.ts`. */

t.setTimeout(testFileMsMax);

export const marketplaces = await startMarketplaces(t);
