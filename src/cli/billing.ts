import type { StripeResource } from '../billing/stripe-setup.ts';
import { AppError } from '../core/app-error.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { jsonOption } from './command.ts';
import { exitCodes } from './exit-codes.ts';

/** Commands for the Stripe account. They need its key, but no server. */

export const billingCommands: readonly CommandSpec[] = [
  {
    usage: 'billing setup',
    settings: 'server',
    summary: 'make the prices, meters, portal and webhook of the plans in an account at Stripe',
    options: [jsonOption],
    examples: [
      'QUARRY_STRIPE_SECRET_KEY=sk_test_... QUARRY_BASE_URL=https://quarry.example.com quarry billing setup',
      'quarry billing setup --plans-file plans.json',
    ],
    interrupted: 'what was made stays; setup again goes on',
    run: setup,
  },
  {
    usage: 'billing check',
    settings: 'server',
    summary: 'compare an account at Stripe with the plans; fails where they differ',
    options: [jsonOption],
    examples: ['QUARRY_STRIPE_SECRET_KEY=sk_test_... quarry billing check'],
    run: check,
  },
];

interface SetupResult {
  readonly name: string;
  readonly done: string;
}

/** Returns the Stripe resources that the plans require; prints a note if the webhook is left out. */
async function loadFixtures({ loaded, terminal }: CommandContext): Promise<StripeResource[]> {
  const {
    stripeSecretKey: secretKey,
    stripeApiBase: apiBase,
    stripeSecondsMax,
    baseUrl,
    plansFile,
  } = loaded.settings;
  if (secretKey === null) {
    throw new AppError(
      'bad_request',
      'QUARRY_STRIPE_SECRET_KEY is not set: name the secret key of the account at Stripe.',
    );
  }
  const [
    { stripeResources: fixturesOf },
    { loadPlans },
    { createStripeClient: openStripe },
    { createEgress: openEgress },
  ] = await Promise.all([
    import('../billing/stripe-setup.ts'),
    import('../billing/plans.ts'),
    import('../billing/stripe.ts'),
    import('../egress/create-egress.ts'),
  ]);
  const plans = loadPlans(plansFile);
  const egress = openEgress(loaded.settings);
  const stripe = await openStripe({ secretKey, apiBase, msMax: stripeSecondsMax * 1_000, egress });
  if (baseUrl === null)
    terminal.note(
      'QUARRY_BASE_URL is not set: the webhook is left out, because Stripe needs an address to send to.\n',
    );
  return fixturesOf(stripe, plans, baseUrl === null ? null : `${baseUrl}/api/billing/webhook`);
}

async function setup(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const { terminal, signal } = context;
  const all: SetupResult[] = [];
  for (const { name, check: look, apply: mend } of await loadFixtures(context)) {
    signal.throwIfAborted();
    const difference = await withStripeErrors(name, look);
    const outcome = difference === null ? 'is there already' : await withStripeErrors(name, mend);
    all.push({ name, done: outcome });
    if (options.json !== true) terminal.out(`${name}: ${outcome}`);
  }
  if (options.json === true) terminal.out(JSON.stringify({ done: all }));
  return exitCodes.done;
}

async function check(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const { terminal, signal } = context;
  const all: { readonly name: string; readonly trouble: string | null }[] = [];
  for (const { name, check: look } of await loadFixtures(context)) {
    signal.throwIfAborted();
    const difference = await withStripeErrors(name, look);
    all.push({ name, trouble: difference });
    if (options.json !== true) terminal.out(`${name}: ${difference ?? 'as it should be'}`);
  }
  const hasDifferences = all.some(({ trouble }) => trouble !== null);
  if (options.json === true) terminal.out(JSON.stringify({ matches: !hasDifferences, fixtures: all }));
  else if (hasDifferences)
    terminal.note('quarry: the account differs from the plans; `quarry billing setup` changes it\n');
  return hasDifferences ? exitCodes.failed : exitCodes.done;
}

/** Passes on Stripe's own error message, because the operator can act on it. */
async function withStripeErrors<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) || !(error.cause instanceof Error)) throw error;
    throw new AppError(error.code, `${name}: Stripe says: ${error.cause.message}`, { cause: error });
  }
}
