import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { BillingFixture } from './billing-fixture.ts';

/** The server of `billing-restarts.test.ts`, which its scenarios kill and start again. */

t.setTimeout(testFileMsMax);

export const fixture = await BillingFixture.start(t, '2027-03-10T12:00:00Z');
