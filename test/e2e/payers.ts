import type { Test } from 'tap';
import type { Seeded } from '../store/seeded.ts';
import type { FaultKind } from '../stripe/faults.ts';
import type { Delivery } from '../stripe/webhooks.ts';
import { asAdministrator, type BillingWorld, limitsOf, type Owner, type PlanTier } from './billing-world.ts';
import { firstAfter, type Metric, MoneyModel } from './money-model.ts';

/**
 * People who subscribe, change their minds and pay late, while Stripe fails, events are lost and the administrator changes
 * limits and tiers: the money and the limits are right.
 */

interface Payer {
  readonly owner: Owner;
  readonly model: MoneyModel;
  /** Where an invoice that waits is paid. */
  page: string;
  /** What the administrator said, by the names of `overrides`. */
  readonly overrides: Map<string, number>;
  /** What the administrator gave: nothing up to that is sold to them. */
  granted: Tier;
}

type Action = (payer: Payer) => Promise<void>;

const tiers = ['free', 'starter', 'teams', 'enterprise'] as const;
type Tier = (typeof tiers)[number];

const payersMax = 3;
const hour = 3_600;
const faultKinds: readonly FaultKind[] = [
  ...(['error-before', 'error-after', 'error-remembered', 'lost-before', 'lost-after', 'too-many'] as const),
];
const ways: readonly Delivery[] = ['sent', 'sent', 'sent', 'sent', 'lost', 'twice', 'held'];
const cents = [1, 499, 1_500, 12_345] as const;
const tokens = [
  ...(['tok_visa', 'tok_visa', 'tok_threeDSecure2Required', 'tok_threeDSecure2Required'] as const),
  'tok_chargeCustomerFail',
] as const;
/** Overrides, and what `status` calls the limits. */
const overrides = {
  override_bpm_fast: 'bpm_fast',
  override_bpm_slow: 'bpm_slow',
  override_rpm: 'rpm',
  override_max_documents: 'max_documents',
} as const;

export class Payers {
  readonly #test: Test;
  readonly #chance: Seeded;
  readonly #world: BillingWorld;
  readonly #payers: Payer[] = [];
  readonly #done: string[] = [];
  #codes = 0;
  /** How often each thing happened. */
  readonly seen: Record<string, number> = {};

  constructor(t: Test, chance: Seeded, world: BillingWorld) {
    this.#test = t;
    this.#chance = chance;
    this.#world = world;
  }

  /** Acts until `steps` are done or the time is over. */
  async run(steps: number, msMax = Number.POSITIVE_INFINITY): Promise<void> {
    const { emulator } = this.#world;
    emulator.webhooks.way = () => this.#one(ways);
    while (this.#payers.length < payersMax)
      this.#payers.push({
        ...{ owner: await this.#world.owner(), model: new MoneyModel(), page: '' },
        ...{ overrides: new Map(), granted: 'free' },
      });
    const deadline = performance.now() + msMax;
    for (let step = 0; step < steps && performance.now() < deadline && this.#test.passing(); step += 1) {
      await this.#step();
      await this.#check();
    }
  }

  async #step(): Promise<void> {
    if (this.#chance.below(4) === 0) return this.#travel();
    const payer = this.#one(this.#payers);
    await this.#one(this.#possible(payer))(payer);
    await this.#world.moment();
    const { webhooks } = this.#world.emulator;
    if (this.#chance.below(3) === 0) webhooks.release((letters) => [...letters].reverse());
  }

  /** What this payer might do now, sensible or not. */
  #possible({ model, granted }: Payer): Action[] {
    const actions: Action[] = [this.#redeem, this.#use, this.#use, this.#overdo, this.#administer];
    if (granted === 'enterprise') return [...actions, this.#retier, this.#retier];
    if (model.waiting !== null) return [...actions, this.#payOnPage, this.#payOnPage];
    if (model.pausedTier !== null) return [...actions, this.#resume, this.#resume];
    if (model.tier === 'free') return [...actions, this.#start, this.#start, this.#start];
    actions.push(this.#lower, this.#lower, this.#keep);
    if (model.tier === 'starter') actions.push(this.#raise, this.#raise);
    if (model.plannedTier === null) actions.push(this.#pause);
    return actions;
  }

  #one<T>(all: readonly T[]): T {
    return all[this.#chance.below(all.length)]!;
  }

  #note(what: string, more = ''): void {
    this.seen[what] = (this.seen[what] ?? 0) + 1;
    this.#done.push(`${new Date(this.#world.emulator.now * 1_000).toISOString()} ${what} ${more}`);
  }

  /**
   * Asks while Stripe fails perhaps, and again, as people do, until there is an answer. What was done before the answer
   * was lost may be refused the second time; the money shows what it was.
   */
  async #ask(
    payer: Payer,
    operation: string,
    body: object,
  ): Promise<{ status: number; body: Record<string, unknown> }> {
    const { faults } = this.#world.emulator;
    if (this.#chance.below(3) === 0) {
      const kind = this.#one(faultKinds);
      // One call among those that it takes.
      for (let before = this.#chance.below(6); before > 0; before -= 1) faults.add({ kind: 'none' });
      faults.add({ kind, times: 1 + this.#chance.below(4) });
      this.#note(`fault ${kind}`);
    }
    const key = { 'idempotency-key': `${this.#chance.below(2 ** 31)}` };
    let answer = await payer.owner.ask(operation, body, this.#chance.below(2) === 0 ? key : {});
    faults.clear();
    for (let tries = 0; tries < 4 && answer.status >= 500; tries += 1) {
      this.#note('again', `${operation} after ${answer.status}`);
      answer = await payer.owner.ask(operation, body);
    }
    this.#note(
      operation,
      `${JSON.stringify(body)} ${answer.status} ${answer.status === 200 ? '' : answer.text}`,
    );
    return answer;
  }

  readonly #start = (payer: Payer) => this.#pay(payer, this.#one(['starter', 'teams'] as const));
  readonly #raise = (payer: Payer) => this.#pay(payer, 'teams');

  async #pay(payer: Payer, tier: PlanTier): Promise<void> {
    const { owner, model } = payer;
    const { emulator } = this.#world;
    const now = emulator.now;
    const token = this.#one(tokens);
    const body = { tier, payment_method_id: await owner.card(token) };
    const answer = await this.#ask(payer, 'subscribe', body);
    if (isGiven(payer, tier)) return void this.#test.equal(answer.status, 409, `${tier} is given`);
    if (answer.status === 402) {
      this.#test.equal(token, 'tok_chargeCustomerFail', `${token} is not declined`);
      return;
    }
    const waits = token === 'tok_threeDSecure2Required';
    if (answer.status === 409) {
      const isTooLate = waits && model.plannedTier !== null && model.outlivesMonth(now);
      this.#test.ok(isTooLate, `subscribe: 409 ${answer.body.detail}`);
      return;
    }
    const was = model.tier;
    if (was === 'free') model.start(tier, now, waits);
    else model.raise(tier, now, waits);
    if (token === 'tok_chargeCustomerFail')
      this.#test.equal(model.owed + model.bills.at(-1)!.due, 0, 'nothing was due');
    if (model.waiting === null) this.#changeCards(payer);
    else payer.page = String(answer.body.hosted_invoice_url);
  }

  /** The bank has thought better of it, so that renewals are paid. */
  #changeCards({ owner }: Payer): void {
    const { world } = this.#world.emulator;
    const customer = world
      .all('customer')
      .find((one) => one.metadata.organization_id === owner.organizationId);
    for (const card of world.all('payment_method'))
      if (card.customer === customer?.id) world.cards.set(card.id, 'pays');
  }

  readonly #payOnPage = async (payer: Payer): Promise<void> => {
    this.#note('paid on the page');
    this.#test.equal(await payer.owner.payOnPage(payer.page), 200);
    const { model } = payer;
    const { now } = this.#world.emulator;
    const isOfLastMonth = firstAfter(model.waiting!.since) <= now;
    model.pay(now);
    // What began in a month that is over goes on with this one, the invoice of which is a draft for an hour.
    if (isOfLastMonth) await this.#travelTo(now + 2 * hour);
  };

  readonly #lower = async (payer: Payer): Promise<void> => {
    const { model } = payer;
    const tier = this.#one(['free', 'starter'] as const);
    const isLower = tier === 'free' || model.tier === 'teams';
    const answer = await this.#ask(payer, 'downgrade', { tier });
    this.#test.equal(answer.status, isLower ? 200 : 400);
    if (isLower) model.plan(tier);
  };

  readonly #keep = async (payer: Payer): Promise<void> => {
    const isPlanned = payer.model.plannedTier !== null;
    const answer = await this.#ask(payer, 'cancel-downgrade', {});
    this.#test.ok(answer.status === 200 || answer.status === 400, `cancel-downgrade: ${answer.status}`);
    if (isPlanned) payer.model.cancelPlan();
  };

  readonly #pause = async (payer: Payer): Promise<void> => {
    const { status } = await this.#ask(payer, 'pause', {});
    this.#test.equal(status, 200);
    payer.model.pause(this.#world.emulator.now);
  };

  readonly #resume = async (payer: Payer): Promise<void> => {
    const { status } = await this.#ask(payer, 'subscribe', { tier: payer.model.pausedTier });
    if (isGiven(payer, payer.model.pausedTier!)) return void this.#test.equal(status, 409);
    this.#test.ok(status === 200 || status === 400, `resume: ${status}`);
    payer.model.resume(this.#world.emulator.now);
  };

  readonly #redeem = async (payer: Payer): Promise<void> => {
    const amount = this.#one(cents);
    this.#codes += 1;
    const code = `CODE${this.#codes}`;
    const coupon = await this.#world.stripe.coupons.create({
      duration: 'once',
      amount_off: amount,
      currency: 'usd',
    });
    await this.#world.stripe.promotionCodes.create({
      code,
      promotion: { type: 'coupon', coupon: coupon.id },
    });
    const { status } = await this.#ask(payer, 'redeem-code', { code });
    if (status === 429) return;
    this.#test.ok(status === 200 || status === 400, `redeem-code: ${status}`);
    payer.model.redeem(amount);
  };

  /** Use is reported to Stripe minute by minute while a subscription serves; here at once. */
  readonly #use = async (payer: Payer): Promise<void> => {
    const customer = payer.owner.customer();
    if (customer === null || payer.model.tier === 'free') return;
    const metric: Metric = this.#one(['embed', 'rerank'] as const);
    const tokens = this.#chance.below(3_000_000_000);
    const event_name = `quarry_${metric}_tokens`;
    const payload = { stripe_customer_id: customer, value: String(tokens) };
    await this.#world.stripe.billing.meterEvents.create({ event_name, payload });
    this.#note('use', `${metric} ${tokens}`);
    payer.model.use(metric, tokens);
  };

  readonly #administer = (payer: Payer): Promise<void> =>
    this.#chance.below(3) === 0 ? this.#retier(payer) : this.#override(payer);

  /** The administrator says what a limit is instead of that of the tier, or takes it back with 0. */
  async #override(payer: Payer): Promise<void> {
    const [name, limit] = this.#one(Object.entries(overrides));
    const wanted = this.#one([0, 1 + this.#chance.below(1_000_000_000)]);
    if (wanted === 0) payer.overrides.delete(limit);
    else payer.overrides.set(limit, wanted);
    await this.#change(payer, { [name]: wanted });
  }

  /** The administrator gives a tier, or takes it back, mostly. */
  readonly #retier = async (payer: Payer): Promise<void> => {
    payer.granted = payer.granted === 'free' ? this.#one(tiers) : 'free';
    await this.#change(payer, { subscription_tier: payer.granted });
  };

  async #change({ owner: { organizationId } }: Payer, changes: object): Promise<void> {
    const body = { organization_id: organizationId, ...changes };
    this.#note('administrator', JSON.stringify(changes));
    this.#test.equal(await asAdministrator(this.#world.server, 'update-organization', body), 200);
  }

  /** What is not possible is refused and changes nothing. */
  readonly #overdo = async (payer: Payer): Promise<void> => {
    const { model } = payer;
    const [operation, body] = this.#one<[string, object]>([
      ['subscribe', { tier: 'enterprise' }],
      ['downgrade', { tier: 'enterprise' }],
      ['redeem-code', { code: 'NO SUCH CODE' }],
      ['remove-payment-method', { payment_method_id: 'pm_none' }],
      ...(model.isSubscribed
        ? []
        : ([
            ['pause', {}],
            ['downgrade', { tier: 'free' }],
          ] as [string, object][])),
    ]);
    const { status } = await payer.owner.ask(operation, body);
    this.#note('refused', `${operation} ${status}`);
    this.#test.ok(status >= 400 && status < 500, `${operation} ${JSON.stringify(body)}: ${status}`);
  };

  /** To some time that is not in the first hours of a month, in which an invoice is a draft. */
  async #travel(): Promise<void> {
    const { emulator } = this.#world;
    const from = emulator.now;
    const wanted = from + hour + this.#chance.below(hour * this.#one([24, 24 * 20]));
    const first = firstAfter(from);
    // Every now and then to the last day of a month, over the end of which payments wait.
    const lastDay = first - hour - this.#chance.below(22 * hour);
    if (lastDay > from && this.#chance.below(5) === 0) return this.#travelTo(lastDay);
    // Nor in the last hour before them, out of which others than travellers would come.
    await this.#travelTo(wanted >= first - hour && wanted < first + 2 * hour ? first + 2 * hour : wanted);
  }

  async #travelTo(to: number): Promise<void> {
    const from = this.#world.emulator.now;
    for (const { model } of this.#payers) {
      if (model.waiting !== null && to >= firstAfter(from)) this.#note('waits over the end of a month');
      model.pass(from, to);
    }
    await this.#world.travel(to);
    this.#note('travelled', new Date(to * 1_000).toISOString());
  }

  /** What the server shows, what Stripe holds and what the rules say are the same, to the cent. */
  async #check(): Promise<void> {
    for (const payer of this.#payers) {
      const { owner, model, granted } = payer;
      const status = await owner.status();
      const tier = isGiven(payer, model.tier) ? granted : model.tier;
      const invoices = owner.invoices();
      const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);
      const found = {
        tier: status.subscription_tier,
        planned: status.pending_downgrade?.tier ?? null,
        waiting: status.pending_upgrade?.tier ?? null,
        credit: status.credit_balance_cents,
        collected: sum(invoices.map((invoice) => invoice.amount_paid)),
        owed: sum(invoices.filter((one) => one.status === 'open').map((one) => one.amount_remaining)),
      };
      const expected = {
        tier,
        planned: model.plannedTier,
        waiting: model.waiting?.tier ?? null,
        credit: model.credit,
        collected: model.collected,
        owed: model.owed,
      };
      this.#test.strictSame(found, expected, `the money of ${owner.person.email}`);
      const overridden = payer.overrides.size > 0;
      this.#test.match(status.rate_limits, {
        ...limitsOf[tier],
        ...Object.fromEntries(payer.overrides),
        overridden,
      });
      if (!this.#test.passing()) {
        this.#test.comment(this.#done.slice(-40).join('\n'));
        this.#test.comment(
          JSON.stringify(
            invoices.map(({ total, amount_paid, status, billing_reason }) => ({
              total,
              amount_paid,
              status,
              billing_reason,
            })),
          ),
        );
        this.#test.comment(JSON.stringify(model.bills));
        const grants = this.#world.emulator.world.all('billing.credit_grant');
        this.#test.comment(JSON.stringify(grants.filter(({ customer }) => customer === owner.customer())));
        return;
      }
    }
  }
}

/** Whether the administrator gave a tier already, or a higher one. */
function isGiven({ granted }: Payer, tier: PlanTier): boolean {
  return tiers.indexOf(tier) <= tiers.indexOf(granted);
}
