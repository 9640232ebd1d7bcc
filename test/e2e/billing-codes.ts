import t from '../support/tap.ts';
import type { OrganizationOwner } from './billing-fixture.ts';
import { fixture } from './billing-server.ts';
import { createPromotionCode, subscribedOwner, sum } from './billing-steps.ts';

/** Promotion codes. */

const { emulator } = fixture;

t.test('a code is redeemed once, also with concurrent requests', async (t) => {
  await createPromotionCode(fixture, 'ONCE');
  const owner = await fixture.createOwner();
  const tries = await Promise.all([1, 2, 3, 4].map(() => owner.request('redeem-code', { code: 'ONCE' })));
  t.equal(
    tries.filter(({ status }) => status === 200).length,
    1,
    tries.map(({ status }) => status).join(' '),
  );
  const again = { status: 400, body: { detail: /^This organization has already redeemed this code/ } };
  t.match(await owner.request('redeem-code', { code: 'ONCE' }), again);
  t.equal((await owner.status()).credit_balance_cents, 1_500);
  const other = await fixture.createOwner();
  t.match(await other.call('redeem-code', { code: 'ONCE' }), { credit_cents: 1_500, currency: 'usd' });
  await owner.call('subscribe', { tier: 'starter', payment_method_id: await owner.createCard() });
  const [invoice] = owner.invoices();
  t.equal(invoice!.amount_paid, invoice!.total - 1_500, 'the credit paid a part of the first invoice');
});

t.test(
  'the redemption limit of a coupon covers all of its codes, and a code can be restricted to a customer',
  async (t) => {
    const coupon = await fixture.stripe.coupons.create({
      duration: 'once',
      amount_off: 900,
      currency: 'usd',
      max_redemptions: 2,
    });
    for (const code of ['SPRING', 'MARCH', 'EASTER'])
      await fixture.stripe.promotionCodes.create({ code, promotion: { type: 'coupon', coupon: coupon.id } });
    for (const code of ['SPRING', 'MARCH'])
      t.match(await (await fixture.createOwner()).call('redeem-code', { code }), { credit_cents: 900 });
    const [late, own] = [await fixture.createOwner(), await subscribedOwner(fixture, 'starter')];
    t.equal(
      (await late.request('redeem-code', { code: 'EASTER' })).status,
      400,
      'the third use of a code with two uses',
    );
    await createPromotionCode(
      fixture,
      'PERSONAL',
      { amount_off: 300, currency: 'usd' },
      { customer: own.customer() },
    );
    const { id: other } = await fixture.stripe.customers.create({});
    await createPromotionCode(fixture, 'PERSONAL', undefined, { customer: other });
    t.match(await own.call('redeem-code', { code: 'PERSONAL' }), { credit_cents: 300 });
    t.equal((await late.request('redeem-code', { code: 'PERSONAL' })).status, 400);
  },
);

t.test('the last use of a code goes to one of several concurrent requests', async (t) => {
  await createPromotionCode(fixture, 'LAST', undefined, { max_redemptions: 2 });
  const owners = [
    await fixture.createOwner(),
    await fixture.createOwner(),
    await fixture.createOwner(),
    await fixture.createOwner(),
  ];
  const answers = await Promise.all(owners.map((owner) => owner.request('redeem-code', { code: 'LAST' })));
  t.same(answers.map(({ status }) => status).sort(), [200, 200, 400, 400]);
  const credits = await Promise.all(owners.map(async (owner) => (await owner.status()).credit_balance_cents));
  t.equal(sum(credits), 3_000);
});

t.test('all invalid codes get the same message, and guessing is limited', async (t) => {
  await createPromotionCode(fixture, 'EURO', { amount_off: 1_500, currency: 'eur' });
  await createPromotionCode(fixture, 'PERCENT', { percent_off: 10 });
  await createPromotionCode(fixture, 'OVER', undefined, { expires_at: emulator.now - 60 });
  await createPromotionCode(fixture, 'ONLYONE', undefined, { max_redemptions: 1 });
  const restrictions = { minimum_amount: 9_900, minimum_amount_currency: 'usd' };
  await createPromotionCode(fixture, 'FROM99', undefined, { restrictions });
  await createPromotionCode(fixture, 'OTHER', undefined, {
    customer: (await fixture.stripe.customers.create({})).id,
  });
  const { id: support } = await fixture.stripe.products.create({ name: 'Support' });
  const sold = (await fixture.stripe.prices.list({ limit: 100 })).data.map(({ product }) => product);
  const only = (products: unknown[]) => ({ amount_off: 300, currency: 'usd', applies_to: { products } });
  await createPromotionCode(fixture, 'SUPPORT', only([support]));
  await createPromotionCode(fixture, 'ONEPLAN', only([sold[0]]));
  await createPromotionCode(fixture, 'ALLPLANS', only([...new Set(sold), support]));
  const lucky = await fixture.createOwner();
  await lucky.call('redeem-code', { code: 'ONLYONE' });
  t.match(await lucky.call('redeem-code', { code: 'ALLPLANS' }), { credit_cents: 300 });
  const owner = await fixture.createOwner();
  const answers = [];
  for (const code of [
    'EURO',
    'PERCENT',
    'OVER',
    'ONLYONE',
    'FROM99',
    'OTHER',
    'SUPPORT',
    'ONEPLAN',
    'NEVER',
    'a code\r\nwith lines',
  ])
    answers.push(await owner.request('redeem-code', { code }));
  t.strictSame(
    answers.map(({ status }) => status),
    answers.map(() => 400),
  );
  t.equal(new Set(answers.map(({ body }) => body.detail)).size, 1, 'the reason is not revealed');
  const guesses = [];
  for (let i = 0; i < 5; i += 1)
    guesses.push((await owner.request('redeem-code', { code: `GUESS${i}` })).status);
  t.equal(guesses.at(-1), 429);
  t.equal((await owner.status()).credit_balance_cents, 0);
  const guess = (by: OrganizationOwner) => by.request('redeem-code', { code: 'GUESS' });
  await owner.createOrganization('Another organization');
  t.match(
    await guess(owner),
    { status: 429, body: { detail: /Too many promo codes/ } },
    'another organization of the same user',
  );
  const [second, third] = [await fixture.createOwner(), await fixture.createOwner()];
  for (const { user } of [second, third]) user.headers = owner.user.headers;
  for (let i = 0; i < 10; i += 1) t.equal((await guess(second)).status, 400);
  t.equal((await guess(third)).status, 429, 'a new user on the same host is limited, too');
});
