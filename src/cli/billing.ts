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
    summary: 'create the prices, meters, portal and webhook of the plans in a Stripe account',
    options: [jsonOption],
    examples: [
      'QUARRY_STRIPE_SECRET_KEY=sk_test_... QUARRY_BASE_URL=https://quarry.example.com quarry billing setup',
      'quarry billing setup --plans-file plans.json',
    ],
    interrupted: 'created objects are kept; run setup again to continue',
    run: setup,
  },
  {
    usage: 'billing check',
    settings: 'server',
    summary: 'compare a Stripe account with the plans; exit code 1 if they differ',
    options: [jsonOption],
    examples: ['QUARRY_STRIPE_SECRET_KEY=sk_test_... quarry billing check'],
    run: check,
  },
];

interface SetupResult {
  readonly name: string;
  readonly done: string;
}

/** Returns the Stripe resources that the plans require; prints a note if the webhook is skipped. */
async function loadResources({ loaded, terminal }: CommandContext): Promise<StripeResource[]> {
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
      'QUARRY_STRIPE_SECRET_KEY is not set. Set it to the secret key of the Stripe account.',
    );
  }
  const [{ stripeResources }, { loadPlans }, { createStripeClient }, { createEgress }] = await Promise.all([
    import('../billing/stripe-setup.ts'),
    import('../billing/plans.ts'),
    import('../billing/stripe.ts'),
    import('../egress/create-egress.ts'),
  ]);
  const plans = loadPlans(plansFile);
  const egress = createEgress(loaded.settings);
  const stripe = await createStripeClient({ secretKey, apiBase, msMax: stripeSecondsMax * 1_000, egress });
  if (baseUrl === null)
    terminal.note('QUARRY_BASE_URL is not set. Skipping the webhook, which needs a public URL.\n');
  return stripeResources(stripe, plans, baseUrl === null ? null : `${baseUrl}/api/billing/webhook`);
}

async function setup(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const { terminal, signal } = context;
  const all: SetupResult[] = [];
  for (const { name, check: findDifference, apply } of await loadResources(context)) {
    signal.throwIfAborted();
    const difference = await withStripeErrors(name, findDifference);
    const outcome = difference === null ? 'already exists' : await withStripeErrors(name, apply);
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
  for (const { name, check: findDifference } of await loadResources(context)) {
    signal.throwIfAborted();
    const difference = await withStripeErrors(name, findDifference);
    all.push({ name, trouble: difference });
    if (options.json !== true) terminal.out(`${name}: ${difference ?? 'ok'}`);
  }
  const hasDifferences = all.some(({ trouble }) => trouble !== null);
  if (options.json === true) terminal.out(JSON.stringify({ matches: !hasDifferences, fixtures: all }));
  else if (hasDifferences)
    terminal.note('quarry: the account differs from the plans; run `quarry billing setup` to update it\n');
  return hasDifferences ? exitCodes.failed : exitCodes.done;
}

/** Passes on Stripe's own error message, because the operator can act on it. */
async function withStripeErrors<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) || !(error.cause instanceof Error)) throw error;
    throw new AppError(error.code, `${name}: error from Stripe: ${error.cause.message}`, { cause: error });
  }
}
