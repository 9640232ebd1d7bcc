import { monthlyPriceCents, type PlanTier } from './billing-fixture.ts';

/**
 * What an organisation pays, is credited and owes, counted from the rules alone: the first part of a month and every
 * raise are paid at once by the second, the first of a month (UTC) is paid in advance, use is paid in arrears, what was
 * paid for tiers in a month, and not given back, pays for the use of that month, and credit pays before the card does.
 * Credit that was given back for a tier counts as paid where it pays for one again. Amounts are cents.
 */

/** Cents for a million tokens. */
const centsPerMillionTokens = { embed: 5, rerank: 2.5 } as const;
export type ModelMetric = keyof typeof centsPerMillionTokens;

const graceSeconds = 3 * 86_400;
/** How long the page of an invoice that waits takes money. */
const paymentWindowSeconds = 23 * 3_600;

interface ModelGrant {
  remaining: number;
  readonly expires: number;
}

/** What somebody was asked to pay and has not. */
interface PendingPayment {
  readonly kind: 'start' | 'raise';
  readonly tier: PlanTier;
  readonly due: number;
  readonly creditUsed: number;
  readonly tierCents: number;
  readonly createdAt: number;
}

/** One line of what was paid, for the table of a story. */
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
  /** What was planned before a raise that waits: it comes back where that is not paid. */
  #suspendedPlannedTier: PlanTier | null = null;
  pendingPayment: PendingPayment | null = null;
  /** What the customer has for the next invoices. */
  credit = 0;
  /** What cards paid. */
  collectedCents = 0;
  readonly bills: ModelBill[] = [];
  /** What of the credit was paid for tiers and given back. */
  #paidCredit = 0;
  #usedTokens: Record<ModelMetric, number> = { embed: 0, rerank: 0 };
  #grants: ModelGrant[] = [];

  /** What is still asked for. */
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

  /** The first tier. `waits`: the bank wants to ask first. */
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
      { kind: 'raise', tier, forTiers: amount, use: [], what: `${this.tier} to ${tier}` },
      now,
      needsAuthentication,
    );
  }

  /** The customer paid what waited. */
  pay(now: number): void {
    const { pendingPayment: waiting } = this;
    if (waiting === null) throw new Error('nothing waits');
    this.pendingPayment = null;
    this.tier = waiting.tier;
    this.#recordPayment(waiting, now);
    if (startOfNextMonth(waiting.createdAt) <= now) this.#startMonth(now);
  }

  /** Whether what waits since a time may wait into the next month. */
  outlivesMonth(since: number): boolean {
    return since + paymentWindowSeconds >= startOfNextMonth(since);
  }

  planDowngrade(tier: PlanTier): void {
    this.plannedTier = tier;
  }

  cancelDowngrade(): void {
    this.plannedTier = null;
  }

  /** What was paid for the rest becomes credit, and pays for no use; what was used is paid. */
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
    const bill = { kind: 'raise', tier: 'free', use: this.#takeUsage(), what: 'pause' } as const;
    this.#issueBill({ ...bill, forTiers: -unused }, now, false);
    this.#paidCredit += Math.min(withdrawn, Math.max(0, this.credit - before));
  }

  resume(now: number): void {
    if (this.pausedTier === null) throw new Error('it is not paused');
    const tier = this.pausedTier;
    this.pausedTier = null;
    this.#issueBill(
      { kind: 'raise', tier, forTiers: remainingPriceOf(tier, now), use: [], what: `${tier} again` },
      now,
      false,
    );
  }

  /** Time passes: firsts of months, and what waited too long. */
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

  /** A raise does not outlive its month. */
  #expiresAt(next: number): number {
    const { kind, createdAt: since } = this.pendingPayment!;
    return kind === 'raise' ? Math.min(since + paymentWindowSeconds, next) : since + paymentWindowSeconds;
  }

  #expirePendingPayment(): void {
    const { kind, creditUsed } = this.pendingPayment!;
    this.credit += creditUsed;
    this.pendingPayment = null;
    if (kind === 'raise') this.plannedTier = this.#suspendedPlannedTier;
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
        kind: 'raise',
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

/** The price of the rest of the month. */
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
