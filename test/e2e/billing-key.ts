import { runQuarry } from '../cli/quarry.ts';
import t from '../support/tap.ts';
import { fixture, revokedKey } from './billing-restart-server.ts';
import { waitFor } from './checked-api-client.ts';
import { TestServer } from './server.ts';

/** A malformed Stripe secret key prevents the start; one that Stripe rejects is reported. */

const { emulator, server } = fixture;

/** Status of payments in `/readyz`. */
async function readiness() {
  const reply = await fetch(`${server.url}/readyz`);
  // biome-ignore lint/suspicious/noExplicitAny: whatever a server says
  const { components } = (await reply.json()) as any;
  return { status: reply.status, payments: components.payments };
}

t.test('a malformed Stripe key prevents the start, and the error lists the allowed forms', async (t) => {
  const allowedForms = /QUARRY_STRIPE_SECRET_KEY.*sk_test_, sk_live_, rk_test_ or rk_live_/s;
  const variables = { STRIPE_API_BASE: emulator.url, STRIPE_SECRET_KEY: 'nonsense' };
  await t.rejects(TestServer.start(t, variables), { message: allowedForms });
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
    const refused = await waitFor(
      'the rejection of the key',
      async () => {
        const now = await readiness();
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
    t.notOk(server.fullLog.includes(revokedKey));
    await fixture.restart({ STRIPE_SECRET_KEY: emulator.secretKey });
    const accepted = await waitFor(
      'the key is accepted',
      async () => {
        const now = await readiness();
        return now.payments.detail.includes('accepts') ? now : null;
      },
      60_000,
    );
    t.match(accepted, { status: 200, payments: { ready: true } });
    const rejections = emulator.invalidRequests.splice(0);
    t.strictSame(new Set(rejections), new Set(['Invalid API Key provided.']), 'Stripe rejected only the key');
  },
);
