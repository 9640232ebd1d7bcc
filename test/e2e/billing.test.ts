import t from '../support/tap.ts';
import './billing-subscriptions.ts';
import './billing-access.ts';
import './billing-cards.ts';
import './billing-codes.ts';
import './billing-upgrades.ts';
import './billing-granted-tier.ts';
import './billing-failures.ts';
import './billing-previews.ts';
import './billing-marketplace.ts';
import { fixture } from './billing-server.ts';
import { checkRequestsAndLog } from './billing-steps.ts';

/**
 * Subscriptions through the HTTP API of a server that uses the Stripe emulator. Each import adds the tests of one
 * subject, in this order; all run one after the other on one server, because a server and an emulator of their own cost
 * more than most of them.
 */

t.test('every request is valid for Stripe, and the log has no secret', async (t) =>
  checkRequestsAndLog(t, fixture),
);
