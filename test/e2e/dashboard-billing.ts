import type { Browser, Locator, Page } from 'playwright-core';
import type { Test } from '../support/tap.ts';
import { BillingFixture } from './billing-fixture.ts';
import { openPage } from './browser.ts';
import { signInByMail } from './dashboard-actions.ts';
import { inspectInAllThemes } from './dashboard-themes.ts';

/** Scenario: payment and plan changes, including Stripe's own pages. */
export async function billingScenario(t: Test, browser: Browser): Promise<void> {
  const fixture = await BillingFixture.start(t, '2027-03-10T12:00:00Z');
  const { page, problems } = await openPage(t, browser);
  const { emulator, server } = fixture;
  await signInByMail(page, `${server.url}/app/organizations`, fixture.createPerson('ada@example.com'));
  await page.getByLabel('Name').fill('Lovelace & Co.');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('link', { name: 'Billing' }).click();
  await page.getByText('You are on the Free plan').waitFor();
  await inspectInAllThemes(t, page, 'billing-free');

  await addCard(page, 'pm_card_authenticationRequired');
  await page.getByText('Visa •••• 3184').waitFor();
  await confirmWithBank(t, page);
  await addCard(page, 'pm_card_chargeCustomerFail');
  await addCard(page, 'pm_card_mastercard');
  await upgrade(t, fixture, page);
  await downgradeAndPause(t, page);
  await redeem(t, fixture, page);

  const invoices = page.getByRole('table', { name: 'Invoices' });
  for (const link of await invoices.getByRole('link').all())
    t.equal((await fetch((await link.getAttribute('href'))!)).status, 200, 'every invoice opens');
  t.equal(await invoices.getByText('Paid', { exact: true }).count(), 4);
  await page.getByRole('button', { name: 'Remove Visa •••• 0341' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByText('Visa •••• 0341 was removed.').waitFor();
  await inspectInAllThemes(t, page, 'billing-teams');

  emulator.faults.add({ kind: 'lost-before', times: 10_000 });
  await fixture.advanceBriefly();
  await page.reload();
  await page.getByText('The payment provider is not responding.').waitFor();
  await page.getByText('You are on the Teams plan').waitFor();
  for (const name of ['Change to Starter', 'Pause subscription', 'Add a payment method', 'Redeem'])
    t.ok(await page.getByRole('button', { name }).isDisabled(), `${name} is disabled`);
  await page.getByText('Unavailable until the payment provider responds.').first().waitFor();
  await inspectInAllThemes(t, page, 'billing-stale');
  emulator.faults.clear();
  await page.getByText('The payment provider is not responding.').waitFor({ state: 'detached' });
  t.ok(await page.getByRole('button', { name: 'Change to Starter' }).isEnabled());

  fixture.checkNoInvalidRequests(t);
  t.same(
    problems.filter((line) => !/status of 40[02]/.test(line)),
    [],
  );
}

/** Adds a card on Stripe's form, which redirects back. */
async function addCard(page: Page, card: string): Promise<void> {
  await page.getByRole('button', { name: 'Add a payment method' }).click();
  await page.getByRole('heading', { name: 'Add a card' }).waitFor();
  await page.locator('[name=card]').fill(card);
  await page.getByRole('button', { name: 'Save card' }).click();
  await page.getByRole('heading', { name: 'Billing' }).waitFor();
  await page.getByRole('button', { name: 'Add a payment method' }).waitFor();
}

/** First plan: the bank requires authentication, and the page detects its completion. */
async function confirmWithBank(t: Test, page: Page): Promise<void> {
  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: 'Upgrade to Starter' }).click();
  const due = await amountDueNow(dialog);
  await dialog.getByRole('button', { name: `Pay ${due}` }).click();
  await dialog.getByRole('button', { name: 'Later' }).click();
  await page.getByRole('button', { name: 'Cancel upgrade' }).click();
  await page.getByText('Upgrade canceled. Nothing was charged.').waitFor();
  await page.getByRole('button', { name: 'Upgrade to Starter' }).click();
  await dialog.getByRole('button', { name: `Pay ${due}` }).click();
  await dialog.getByRole('heading', { name: 'Payment required' }).waitFor();
  await inspectInAllThemes(t, page, 'billing-confirm');
  await dialog.getByRole('button', { name: 'Later' }).click();
  await page.getByText('Starter starts when the invoice is paid.').waitFor();
  await page.getByText('Unpaid', { exact: true }).waitFor();
  const opened = page.waitForEvent('popup');
  await page.getByRole('link', { name: 'Complete payment' }).click();
  const tab = await opened;
  await tab.getByRole('button', { name: 'Pay' }).click();
  await tab.getByRole('heading', { name: /paid/ }).waitFor();
  await tab.close();
  await page.getByText('Payment received. Your plan is now Starter.').waitFor();
  await page
    .getByText('You are on the Starter plan: $50.00 per month, next charge on Apr 1, 2027.')
    .waitFor();
  t.equal(await page.getByText('starts when the invoice is paid').count(), 0);
}

/** Higher plan: the previewed cost is the charged cost; a declined card changes nothing. */
async function upgrade(t: Test, { emulator }: BillingFixture, page: Page): Promise<void> {
  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: 'Upgrade to Teams' }).click();
  await dialog.getByText('Unused time on Quarry starter').waitFor();
  await dialog.getByText('Remaining time on Quarry teams').waitFor();
  await inspectInAllThemes(t, page, 'billing-upgrade');
  const due = await amountDueNow(dialog);
  await dialog.getByLabel('Pay with').selectOption('Visa •••• 0341');
  await dialog.getByRole('button', { name: `Pay ${due}` }).click();
  await dialog.getByRole('alert').getByText('declined').waitFor();
  await dialog.getByLabel('Pay with').selectOption('Mastercard •••• 4444');
  await dialog.getByRole('button', { name: `Pay ${due}` }).click();
  await page.getByText('Your plan is now Teams.').waitFor();
  const paid = emulator.state.listObjects('invoice').filter(({ status }) => status === 'paid');
  t.equal(`$${(paid.at(-1)!.amount_paid / 100).toFixed(2)}`, due, 'the previewed amount is charged');
}

/** Plans, shows and cancels a downgrade; starts and ends a pause. */
async function downgradeAndPause(t: Test, page: Page): Promise<void> {
  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: 'Change to Starter' }).click();
  await dialog.getByText('You keep Teams until Apr 1, 2027.').waitFor();
  await dialog.getByRole('button', { name: 'Change to Starter' }).click();
  await page.getByText('Your plan changes to Starter on Apr 1, 2027.').waitFor();
  const pause = page.getByRole('button', { name: 'Pause subscription' });
  t.ok(await pause.isDisabled(), 'no pause while a change is scheduled');
  await page.getByText('Cancel the scheduled plan change first.').waitFor();
  await inspectInAllThemes(t, page, 'billing-planned');
  await page.getByRole('button', { name: 'Keep Teams' }).click();
  await page.getByText('Your plan remains Teams.').waitFor();

  await pause.click();
  await dialog.getByRole('button', { name: 'Pause' }).click();
  await page.getByText('Teams, paused since Mar 10, 2027.').waitFor();
  const plans = page.getByRole('listitem');
  await plans.filter({ hasText: 'Your plan, paused' }).getByRole('heading', { name: 'Teams' }).waitFor();
  await plans.filter({ hasText: 'Limits in force' }).getByRole('heading', { name: 'Free' }).waitFor();
  await inspectInAllThemes(t, page, 'billing-paused');
  await page.getByRole('button', { name: 'Resume' }).click();
  await dialog.getByText('Your credit').waitFor();
  t.equal(await amountDueNow(dialog), '$0.00', 'credit from before the pause covers the charge');
  await dialog.getByRole('button', { name: 'Resume' }).click();
  await page.getByText('You are on the Teams plan: $200.00').waitFor();
}

async function redeem(t: Test, { stripe }: BillingFixture, page: Page): Promise<void> {
  const coupon = await stripe.coupons.create({ duration: 'once', amount_off: 1_500, currency: 'usd' });
  await stripe.promotionCodes.create({ code: 'WELCOME', promotion: { type: 'coupon', coupon: coupon.id } });
  const use = async (code: string) => {
    await page.getByLabel('Promo code').fill(code);
    await page.getByRole('button', { name: 'Redeem' }).click();
  };
  const errorMessage = page
    .getByRole('alert')
    .getByText('This code does not exist, has expired, or is fully redeemed.');
  await use('NEVER');
  await errorMessage.waitFor();
  await use(' WELCOME ');
  await page.getByText('Credit of $15.00 added.').waitFor();
  // The credit of the pause may be a cent more than the charge after it: a cent for each two minutes, rounded.
  await page
    .getByRole('definition')
    .getByText(/^\$15\.0\d$/)
    .waitFor();
  t.equal(await errorMessage.count(), 0, 'the earlier error is removed');
  await use('WELCOME');
  await page.getByRole('alert').getByText('This organization has already redeemed this code').waitFor();
}

/** Amount due as displayed in the open dialog. */
async function amountDueNow(dialog: Locator): Promise<string> {
  const row = dialog.getByRole('row', { name: 'Due now' });
  return (await row.getByRole('cell').textContent()) ?? '';
}
