import { optionalSetting, type Setting, secondsSetting, textSetting } from '../setting.ts';

/** Payments with Stripe. */
export const paymentSettings = {
  stripeSecretKey: optionalSetting({
    pattern: /^[rs]k_(test|live)_[\x21-\x7e]{8,500}$/,
    meaning: 'Secret or restricted key of the Stripe account for payments',
    allowed: 'a key that begins with sk_test_, sk_live_, rk_test_ or rk_live_',
    secret: true,
    defaultMeaning: 'none: payments are disabled; the administrator sets the tiers',
  }),
  stripeWebhookSecret: optionalSetting({
    pattern: /^[\x21-\x7e]{8,512}$/,
    meaning: 'Signing secret of the webhook at /api/billing/webhook',
    allowed: 'the output of `quarry billing setup`, such as whsec_...',
    secret: true,
    defaultMeaning: 'none: webhooks are disabled; changes are detected on demand or within an hour',
  }),
  stripeApiBase: textSetting('https://api.stripe.com', {
    pattern: /^https?:\/\/[^\s?#@/]+\/?$/,
    meaning: 'Base URL of the Stripe API; for tests with an emulator',
    allowed: 'an http:// or https:// URL without path; a live key requires https://',
  }),
  stripeSecondsMax: secondsSetting(1, 60, 10, {
    meaning: 'Timeout for one attempt of a call to Stripe',
  }),
  stripeAnswerSecondsMax: secondsSetting(1, 50, 25, {
    meaning: 'Timeout for the reply to a billing call; the change continues in the background',
  }),
  plansFile: optionalSetting({
    meaning: 'JSON file with prices and limits of the tiers',
    allowed: 'a file in the format of docs/guides/payments.md',
    defaultMeaning: 'none: the prices in docs/guides/payments.md, and the limits of the settings above',
  }),
} satisfies Record<string, Setting>;
