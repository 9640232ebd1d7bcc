import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { startWithPlanFile } from './billing-plan-file.ts';

/** The server of `billing-months.test.ts`. */

t.setTimeout(testFileMsMax);

export const fixture = await startWithPlanFile(t, '2027-12-31T12:00:00Z');
