import { parseArgs } from 'node:util';
import { StripeEmulator } from './emulator.ts';

/**
 * `node dist/test/support/stripe-emulator/serve-emulator.js --port 12111`: serves an empty Stripe account to try billing
 * with, until Ctrl-C.
 */
const { values } = parseArgs({ options: { port: { type: 'string', default: '12111' } } });

const emulator = await StripeEmulator.start({ port: Number(values.port) });
process.stdout.write(
  [
    'An emulated Stripe account, empty. For the server, and before it for `quarry billing setup`:',
    `  export QUARRY_STRIPE_API_BASE=${emulator.url} QUARRY_STRIPE_SECRET_KEY=${emulator.secretKey}`,
    'Cards: pm_card_visa pays, pm_card_chargeCustomerFail declines, pm_card_authenticationRequired wants authentication.',
    'Time: POST /v1/test_helpers/test_clocks, then /advance, moves the time of the whole account.',
    '',
  ].join('\n'),
);
process.once('SIGINT', () => void emulator.stop()).once('SIGTERM', () => void emulator.stop());
