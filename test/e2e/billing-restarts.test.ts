import t from '../support/tap.ts';
import './billing-key.ts';
import './billing-usage.ts';
import './billing-crash.ts';
import './billing-orphaned-customers.ts';
import './billing-late-replies.ts';
import { fixture } from './billing-restart-server.ts';

/**
 * Billing across kills and restarts of one server. Each import adds the tests of one subject, in this order: the key that
 * Stripe rejects is corrected first, the crash needs a month without deleted organizations before it, and the late replies
 * change settings of the server. Subjects share kills and starts, because one of each costs more than most tests.
 */

t.test('every request is valid for Stripe', async (t) => fixture.checkNoInvalidRequests(t));
