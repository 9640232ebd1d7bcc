import t from '../support/tap.ts';
import { monthlyPriceCents, seconds } from './billing-fixture.ts';
import { fixture } from './billing-server.ts';
import { collected, createPromotionCode, remainingCents, subscribedOwner, sum } from './billing-steps.ts';

/** Previews of charges, and charges that equal them. */

const { emulator } = fixture;

t.test(
  'a preview of a first tier shows its charge to the cent, with credit, and creates no customer',
  async (t) => {
    await createPromotionCode(fixture, 'EARLY');
    const owner = await fixture.createOwner();
    const first = await owner.call('preview', { tier: 'starter' });
    t.match(first, {
      subscription_tier: 'starter',
      currency: 'usd',
      due_cents: remainingCents('starter', emulator.now),
      credit_cents: 0,
      monthly_price_cents: monthlyPriceCents.starter,
      next_invoice_at: '2027-04-01T00:00:00.000Z',
    });
    t.equal(owner.customer(), null, 'a preview creates no customer');
    await owner.call('redeem-code', { code: 'EARLY' });
    const withCredit = await owner.call('preview', { tier: 'starter' });
    t.match(withCredit, { credit_cents: 1_500, due_cents: first.due_cents - 1_500 });
    await owner.call('subscribe', { tier: 'starter', payment_method_id: await owner.createCard() });
    t.equal(collected(owner), withCredit.due_cents);
  },
);

t.test(
  'a preview of an upgrade shows its lines, changes nothing and fixes the charge for an hour',
  async (t) => {
    const owner = await subscribedOwner(fixture, 'starter');
    const charged = collected(owner);
    await owner.status();
    // The server may still react to events of earlier tests.
    await fixture.waitUntilSynced();
    const before = JSON.stringify(emulator.state.events);
    const preview = await owner.call('preview', { tier: 'teams' });
    t.match(preview.lines, [
      {
        description: /Unused time on Quarry starter/,
        amount_cents: -remainingCents('starter', seconds(preview.as_of)),
      },
      {
        description: /Remaining time on Quarry teams/,
        amount_cents: remainingCents('teams', seconds(preview.as_of)),
      },
    ]);
    t.equal(
      preview.total_cents,
      sum(preview.lines.map((line: { amount_cents: number }) => line.amount_cents)),
    );
    for (const [tier, expected] of [
      ['starter', 400],
      ['free', 400],
      ['enterprise', 400],
      ['gold', 422],
    ] as const)
      t.equal((await owner.request('preview', { tier })).status, expected, tier);
    t.equal(JSON.stringify(emulator.state.events), before, 'a preview changes nothing in Stripe');
    await fixture.advanceTo(emulator.now + 1_200);
    const { as_of } = preview;
    for (const wrong of ['2027-03-10T10:00:00Z', '2027-03-12T00:00:00Z'])
      t.equal((await owner.request('subscribe', { tier: 'teams', as_of: wrong })).status, 409, wrong);
    for (const wrong of ['now', 7])
      t.equal((await owner.request('subscribe', { tier: 'teams', as_of: wrong })).status, 422, String(wrong));
    t.equal(collected(owner), charged, 'a rejected upgrade is not charged');
    const without = await owner.call('preview', { tier: 'teams' });
    t.ok(without.due_cents < preview.due_cents, 'the charge decreases with time');
    await owner.call('subscribe', { tier: 'teams', as_of });
    t.equal(collected(owner), charged + preview.due_cents, 'the charge equals the preview');
  },
);

t.test('a preview of a resume shows its charge', async (t) => {
  const owner = await subscribedOwner(fixture, 'teams');
  const previewBeforePause = emulator.now;
  await owner.call('pause');
  t.equal(
    (await owner.request('preview', { tier: 'starter' })).status,
    409,
    'a preview of a tier that is not the paused one is rejected',
  );
  const resumePreview = await owner.call('preview', { tier: 'teams' });
  t.match(resumePreview, { due_cents: 0, credit_cents: remainingCents('teams', emulator.now) });
  await fixture.advanceTo(emulator.now + 86_400);
  const later = await owner.call('preview', { tier: 'teams' });
  t.match(later, { next_invoice_at: '2027-04-01T00:00:00.000Z', due_cents: 0 });
  t.ok(later.credit_cents < resumePreview.credit_cents, 'the returned credit decreases with time');
  const expired = { tier: 'teams', as_of: new Date(previewBeforePause * 1_000).toISOString() };
  t.equal(
    (await owner.request('subscribe', expired)).status,
    409,
    'a preview made before the pause is rejected',
  );
  const { credit_balance_cents: balance } = await owner.status();
  await fixture.advanceTo(emulator.now + 1_800);
  await owner.call('subscribe', { tier: 'teams', as_of: later.as_of });
  const { credit_balance_cents: left } = await owner.status();
  t.equal(balance - left, later.total_cents, 'the charge of a resume equals its preview');
});

t.test('a first tier that waits for its payment has no preview; a higher one has', async (t) => {
  const owner = await fixture.createOwner();
  const card = await owner.createCard('tok_authenticationRequired');
  await owner.call('subscribe', { tier: 'starter', payment_method_id: card });
  t.equal(
    (await owner.request('preview', { tier: 'starter' })).status,
    409,
    'the tier waits for its payment',
  );
  t.match(await owner.call('preview', { tier: 'teams' }), {
    due_cents: remainingCents('teams', emulator.now),
  });
});
