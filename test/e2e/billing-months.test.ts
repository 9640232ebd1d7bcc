import t from '../support/tap.ts';
import './billing-time.ts';
import './billing-pause.ts';
import { fixture } from './billing-month-server.ts';

/** Billing over many months, with one clock for Stripe and the server. The pauses come after the other months. */

t.test('every request is valid for Stripe', async (t) => fixture.checkNoInvalidRequests(t));
