import { monthlyPriceCents, type PlanTier } from './billing-fixture.ts';

/**
 * Model of an organization's payments, credit and debt, computed from the rules alone. The first partial month and
 * every upgrade are charged immediately, to the second; later months are charged in advance on the first (UTC); usage is
 * charged in arrears. Tier payments of a month that are not refunded offset the usage of that month, and credit is spent
 * before the card is charged. Credit refunded for a tier counts as payment when it buys a tier again. Amounts are cents.
 */

/** Cents per million tokens. */
const centsPerMillionTokens = { embed: 5, rerank: 2.5 } as const;
export type ModelMetric = keyof typeof centsPerMillionTokens;

const graceSeconds = 3 * 86_400;
/** Time in which a pending invoice can be paid on its page. */
const paymentWindowSeconds = 23 * 3_600;

interface ModelGrant {
  remaining: number;
  readonly expires: number;
}

/** Payment that was requested but not made yet. */
interface PendingPayment {
  readonly kind: 'start' | 'upgrade';
  readonly tier: PlanTier;
  readonly due: number;
  readonly creditUsed: number;
  readonly tierCents: number;
  readonly createdAt: number;
}

/** Entry of the table of bills. */
export interface ModelBill {
  readonly at: number;
  readonly what: string;
  readonly total: number;
  readonly due: number;
}

export class BillingModel {
  tier: PlanTier = 'free';
  pausedTier: PlanTier | null = null;
  plannedTier: PlanTier | null = null;
  /** Downgrade planned before a pending upgrade; restored if the upgrade is not paid. */
  #suspendedPlannedTier: PlanTier | null = null;
  pendingPayment: PendingPayment | null = null;
  /** Credit available for the next invoices. */
  credit = 0;
  /** Total charged to cards. */
  collectedCents = 0;
  readonly bills: ModelBill[] = [];
  /** Part of the credit that was refunded for paid tiers. */
  #paidCredit = 0;
  #usedTokens: Record<ModelMetric, number> = { embed: 0, rerank: 0 };
  #grants: ModelGrant[] = [];

  /** Amount of the pending payment. */
  get amountDue(): number {
    return this.pendingPayment?.due ?? 0;
  }

  get isSubscribed(): boolean {
    return this.tier !== 'free' || this.pausedTier !== null;
  }

  redeem(cents: number): void {
    this.credit += cents;
  }

  recordUsage(metric: ModelMetric, tokens: number): void {
    if (this.tier !== 'free') this.#usedTokens[metric] += tokens;
  }

  /** Subscribes to the first tier. `needsAuthentication`: the payment is pending until the bank has confirmed it. */
  start(tier: PlanTier, now: number, needsAuthentication: boolean): void {
    const amount = remainingPriceOf(tier, now);
    this.#issueBill(
      { kind: 'start', tier, forTiers: amount, use: [], what: `first part of ${tier}` },
      now,
      needsAuthentication,
    );
  }

  upgrade(tier: PlanTier, now: number, needsAuthentication: boolean): void {
    this.#suspendedPlannedTier = needsAuthentication ? this.plannedTier : null;
    this.plannedTier = null;
    const amount = remainingPriceOf(tier, now) - remainingPriceOf(this.tier, now);
    this.#issueBill(
      { kind: 'upgrade', tier, forTiers: amount, use: [], what: `${this.tier} to ${tier}` },
      now,
      needsAuthentication,
    );
  }

  /** The customer pays the pending amount. */
  pay(now: number): void {
    const { pendingPayment: waiting } = this;
    if (waiting === null) throw new Error('no payment is pending');
    this.pendingPayment = null;
    this.tier = waiting.tier;
    this.#recordPayment(waiting, now);
    if (startOfNextMonth(waiting.createdAt) <= now) this.#startMonth(now);
  }

  /** Whether a payment pending since this time may stay pending into the next month. */
  outlivesMonth(since: number): boolean {
    return since + paymentWindowSeconds >= startOfNextMonth(since);
  }

  planDowngrade(tier: PlanTier): void {
    this.plannedTier = tier;
  }

  cancelDowngrade(): void {
    this.plannedTier = null;
  }

  /**
   * Converts the unused part of the month to credit, which then offsets no usage, and bills the usage of the month.
   */
  pause(now: number): void {
    this.pausedTier = this.tier;
    const unused = remainingPriceOf(this.tier, now);
    const expires = startOfNextMonth(now) + graceSeconds;
    this.#grants = this.#grants.filter((grant) => grant.expires === expires);
    let withdrawn = 0;
    for (const grant of this.#grants) {
      const part = Math.min(grant.remaining, unused - withdrawn);
      grant.remaining -= part;
      withdrawn += part;
    }
    const before = this.credit;
    const bill = { kind: 'upgrade', tier: 'free', use: this.#takeUsage(), what: 'pause' } as const;
    this.#issueBill({ ...bill, forTiers: -unused }, now, false);
    this.#paidCredit += Math.min(withdrawn, Math.max(0, this.credit - before));
  }

  resume(now: number): void {
    if (this.pausedTier === null) throw new Error('it is not paused');
    const tier = this.pausedTier;
    this.pausedTier = null;
    this.#issueBill(
      { kind: 'upgrade', tier, forTiers: remainingPriceOf(tier, now), use: [], what: `${tier} again` },
      now,
      false,
    );
  }

  /** Advances time across month boundaries and expiries of pending payments. */
  advance(from: number, to: number): void {
    let at = from;
    for (;;) {
      const next = startOfNextMonth(at);
      const stop = Math.min(next, to);
      if (this.pendingPayment !== null && this.#expiresAt(next) <= stop) this.#expirePendingPayment();
      at = stop;
      if (at === next) this.#startMonth(at);
      if (at === to) return;
    }
  }

  /** A pending upgrade expires at the end of its month. */
  #expiresAt(next: number): number {
    const { kind, createdAt: since } = this.pendingPayment!;
    return kind === 'upgrade' ? Math.min(since + paymentWindowSeconds, next) : since + paymentWindowSeconds;
  }

  #expirePendingPayment(): void {
    const { kind, creditUsed } = this.pendingPayment!;
    this.credit += creditUsed;
    this.pendingPayment = null;
    if (kind === 'upgrade') this.plannedTier = this.#suspendedPlannedTier;
  }

  #startMonth(now: number): void {
    if (this.tier === 'free') return;
    const use = this.#takeUsage();
    const tier = this.plannedTier ?? this.tier;
    this.plannedTier = null;
    this.tier = tier;
    const isEnd = tier === 'free';
    if (isEnd && use.every((cents) => cents === 0)) return;
    this.#issueBill(
      {
        kind: 'upgrade',
        tier,
        forTiers: monthlyPriceCents[tier],
        use,
        what: isEnd ? 'last use' : `month of ${tier}`,
      },
      now + 3_600,
      false,
    );
  }

  #issueBill(
    bill: {
      readonly kind: PendingPayment['kind'];
      readonly tier: PlanTier;
      readonly forTiers: number;
      readonly use: readonly number[];
      readonly what: string;
    },
    now: number,
    needsAuthentication: boolean,
  ): void {
    const total = bill.forTiers + this.#centsAfterGrants(bill.use, now);
    const creditUsed = total < 0 ? total : Math.min(total, this.credit);
    this.credit -= creditUsed;
    const due = total - creditUsed;
    this.bills.push({ at: now, what: bill.what, total, due });
    if (needsAuthentication && due > 0) {
      const { kind, tier, forTiers } = bill;
      this.pendingPayment = { kind, tier, due, creditUsed, tierCents: forTiers, createdAt: now };
      return;
    }
    this.tier = bill.tier;
    this.#recordPayment({ due, creditUsed, tierCents: bill.forTiers }, now);
  }

  #recordPayment(paid: Pick<PendingPayment, 'due' | 'creditUsed' | 'tierCents'>, now: number): void {
    const { due, creditUsed, tierCents: forTiers } = paid;
    this.collectedCents += due;
    const again = Math.min(this.#paidCredit, Math.max(0, creditUsed));
    this.#paidCredit -= again;
    const left = Math.max(0, Math.min(forTiers, due + again));
    if (left > 0) this.#grants.push({ remaining: left, expires: startOfNextMonth(now) + graceSeconds });
  }

  #centsAfterGrants(use: readonly number[], now: number): number {
    let rest = 0;
    for (const cents of use) {
      let due = cents;
      for (const grant of this.#grants.filter(({ expires }) => expires > now)) {
        const spent = Math.min(due, grant.remaining);
        grant.remaining -= spent;
        due -= spent;
      }
      rest += due;
    }
    return rest;
  }

  #takeUsage(): number[] {
    const use = (['embed', 'rerank'] as const).map((metric) =>
      Math.round((this.#usedTokens[metric] * centsPerMillionTokens[metric]) / 1e6),
    );
    this.#usedTokens = { embed: 0, rerank: 0 };
    return use;
  }
}

/** Price of the rest of the month. */
function remainingPriceOf(tier: PlanTier, now: number): number {
  const end = startOfNextMonth(now);
  return Math.round((monthlyPriceCents[tier] * (end - now)) / (end - startOfMonth(now)));
}

function startOfMonth(now: number): number {
  const date = new Date(now * 1_000);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) / 1_000;
}

export function startOfNextMonth(now: number): number {
  const date = new Date(now * 1_000);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1) / 1_000;
}
