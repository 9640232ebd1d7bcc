import { runQuarry } from '../cli/quarry.ts';
import { StripeEmulator } from '../support/stripe-emulator/emulator.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { waitFor } from './checked-api-client.ts';
import { type ServerVariables, TestServer } from './server.ts';

/** A malformed Stripe secret key prevents the start; one that Stripe rejects is reported. */

t.setTimeout(testFileMsMax);
const emulator = await StripeEmulator.start();
t.teardown(() => emulator.stop());
const start = (key: string, more: ServerVariables = {}) =>
  TestServer.start(t, { STRIPE_API_BASE: emulator.url, STRIPE_SECRET_KEY: key, ...more });

/** Status of payments in `/readyz`. */
async function readiness(server: TestServer) {
  const reply = await fetch(`${server.url}/readyz`);
  // biome-ignore lint/suspicious/noExplicitAny: whatever a server says
  const { components } = (await reply.json()) as any;
  return { status: reply.status, payments: components.payments };
}

t.test('a malformed Stripe key prevents the start, and the error lists the allowed forms', async (t) => {
  const allowedForms = /QUARRY_STRIPE_SECRET_KEY.*sk_test_, sk_live_, rk_test_ or rk_live_/s;
  await t.rejects(start('nonsense'), { message: allowedForms });
  for (const key of ['nonsense', 'pk_test_emulated', 'sk_emulated_key', 'sk_test_'])
    t.match(
      await runQuarry(['billing', 'check'], { variables: { QUARRY_STRIPE_SECRET_KEY: key } }),
      { code: 2, err: allowedForms },
      `${key}, in a command that reads the same settings`,
    );
});

t.test(
  'a key that Stripe rejects is reported in the log and /readyz, and the server keeps serving',
  async (t) => {
    const server = await start('sk_test_revoked_key');
    const refused = await waitFor(
      'the rejection of the key',
      async () => {
        const now = await readiness(server);
        return now.payments.ready ? null : now;
      },
      60_000,
    );
    t.match(refused, {
      status: 200,
      payments: { detail: /Stripe rejects QUARRY_STRIPE_SECRET_KEY \(401\)/ },
    });
    const lines = server.fullLog.match(/Stripe rejects QUARRY_STRIPE_SECRET_KEY \(401\)/g) ?? [];
    t.equal(lines.length, 1, 'logged once');
    t.notMatch(server.fullLog, /sk_test_revoked_key/);
    await server.restart({ STRIPE_SECRET_KEY: emulator.secretKey });
    const accepted = await waitFor(
      'the key is accepted',
      async () => {
        const now = await readiness(server);
        return now.payments.detail.includes('accepts') ? now : null;
      },
      60_000,
    );
    t.match(accepted, { status: 200, payments: { ready: true } });
  },
);
