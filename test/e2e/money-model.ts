import { monthly, type PlanTier } from './billing-world.ts';

/**
 * What an organisation pays, is credited and owes, counted from the rules alone: the first part of a month and every
 * raise are paid at once by the second, the first of a month (UTC) is paid in advance, use is paid in arrears, what was
 * paid for tiers in a month, and not given back, pays for the use of that month, and credit pays before the card does.
 * Credit that was given back for a tier counts as paid where it pays for one again. Amounts are cents.
 */

/** Cents for a million tokens. */
const perMillion = { embed: 5, rerank: 2.5 } as const;
export type Metric = keyof typeof perMillion;

const graceSeconds = 3 * 86_400;
/** How long the page of an invoice that waits takes money. */
const waitSeconds = 23 * 3_600;

interface Grant {
  left: number;
  readonly expires: number;
}

/** What somebody was asked to pay and has not. */
interface Waiting {
  readonly kind: 'start' | 'raise';
  readonly tier: PlanTier;
  readonly due: number;
  readonly creditUsed: number;
  readonly forTiers: number;
  readonly since: number;
}

/** One line of what was paid, for the table of a story. */
export interface Bill {
  readonly at: number;
  readonly what: string;
  readonly total: number;
  readonly due: number;
}

export class MoneyModel {
  tier: PlanTier = 'free';
  pausedTier: PlanTier | null = null;
  plannedTier: PlanTier | null = null;
  /** What was planned before a raise that waits: it comes back where that is not paid. */
  #heldTier: PlanTier | null = null;
  waiting: Waiting | null = null;
  /** What the customer has for the next invoices. */
  credit = 0;
  /** What cards paid. */
  collected = 0;
  readonly bills: Bill[] = [];
  /** What of the credit was paid for tiers and given back. */
  #paidCredit = 0;
  #used: Record<Metric, number> = { embed: 0, rerank: 0 };
  #grants: Grant[] = [];

  /** What is still asked for. */
  get owed(): number {
    return this.waiting?.due ?? 0;
  }

  get isSubscribed(): boolean {
    return this.tier !== 'free' || this.pausedTier !== null;
  }

  redeem(cents: number): void {
    this.credit += cents;
  }

  use(metric: Metric, tokens: number): void {
    if (this.tier !== 'free') this.#used[metric] += tokens;
  }

  /** The first tier. `waits`: the bank wants to ask first. */
  start(tier: PlanTier, now: number, waits: boolean): void {
    const amount = restOf(tier, now);
    this.#ask({ kind: 'start', tier, forTiers: amount, use: [], what: `first part of ${tier}` }, now, waits);
  }

  raise(tier: PlanTier, now: number, waits: boolean): void {
    this.#heldTier = waits ? this.plannedTier : null;
    this.plannedTier = null;
    const amount = restOf(tier, now) - restOf(this.tier, now);
    this.#ask(
      { kind: 'raise', tier, forTiers: amount, use: [], what: `${this.tier} to ${tier}` },
      now,
      waits,
    );
  }

  /** The customer paid what waited. */
  pay(now: number): void {
    const { waiting } = this;
    if (waiting === null) throw new Error('nothing waits');
    this.waiting = null;
    this.tier = waiting.tier;
    this.#collect(waiting, now);
    if (firstAfter(waiting.since) <= now) this.#first(now);
  }

  /** Whether what waits since a time may wait into the next month. */
  outlivesMonth(since: number): boolean {
    return since + waitSeconds >= firstAfter(since);
  }

  plan(tier: PlanTier): void {
    this.plannedTier = tier;
  }

  cancelPlan(): void {
    this.plannedTier = null;
  }

  /** What was paid for the rest becomes credit, and pays for no use; what was used is paid. */
  pause(now: number): void {
    this.pausedTier = this.tier;
    const unused = restOf(this.tier, now);
    const expires = firstAfter(now) + graceSeconds;
    this.#grants = this.#grants.filter((grant) => grant.expires === expires);
    let taken = 0;
    for (const grant of this.#grants) {
      const part = Math.min(grant.left, unused - taken);
      grant.left -= part;
      taken += part;
    }
    const before = this.credit;
    const bill = { kind: 'raise', tier: 'free', use: this.#takeUse(), what: 'pause' } as const;
    this.#ask({ ...bill, forTiers: -unused }, now, false);
    this.#paidCredit += Math.min(taken, Math.max(0, this.credit - before));
  }

  resume(now: number): void {
    if (this.pausedTier === null) throw new Error('it is not paused');
    const tier = this.pausedTier;
    this.pausedTier = null;
    this.#ask(
      { kind: 'raise', tier, forTiers: restOf(tier, now), use: [], what: `${tier} again` },
      now,
      false,
    );
  }

  /** Time passes: firsts of months, and what waited too long. */
  pass(from: number, to: number): void {
    let at = from;
    for (;;) {
      const next = firstAfter(at);
      const stop = Math.min(next, to);
      if (this.waiting !== null && this.#waitsUntil(next) <= stop) this.#giveUp();
      at = stop;
      if (at === next) this.#first(at);
      if (at === to) return;
    }
  }

  /** A raise does not outlive its month. */
  #waitsUntil(next: number): number {
    const { kind, since } = this.waiting!;
    return kind === 'raise' ? Math.min(since + waitSeconds, next) : since + waitSeconds;
  }

  #giveUp(): void {
    const { kind, creditUsed } = this.waiting!;
    this.credit += creditUsed;
    this.waiting = null;
    if (kind === 'raise') this.plannedTier = this.#heldTier;
  }

  #first(now: number): void {
    if (this.tier === 'free') return;
    const use = this.#takeUse();
    const tier = this.plannedTier ?? this.tier;
    this.plannedTier = null;
    this.tier = tier;
    const isEnd = tier === 'free';
    if (isEnd && use.every((cents) => cents === 0)) return;
    this.#ask(
      { kind: 'raise', tier, forTiers: monthly[tier], use, what: isEnd ? 'last use' : `month of ${tier}` },
      now + 3_600,
      false,
    );
  }

  #ask(
    bill: {
      readonly kind: Waiting['kind'];
      readonly tier: PlanTier;
      readonly forTiers: number;
      readonly use: readonly number[];
      readonly what: string;
    },
    now: number,
    waits: boolean,
  ): void {
    const total = bill.forTiers + this.#afterGrants(bill.use, now);
    const creditUsed = total < 0 ? total : Math.min(total, this.credit);
    this.credit -= creditUsed;
    const due = total - creditUsed;
    this.bills.push({ at: now, what: bill.what, total, due });
    if (waits && due > 0) {
      const { kind, tier, forTiers } = bill;
      this.waiting = { kind, tier, due, creditUsed, forTiers, since: now };
      return;
    }
    this.tier = bill.tier;
    this.#collect({ due, creditUsed, forTiers: bill.forTiers }, now);
  }

  #collect(paid: Pick<Waiting, 'due' | 'creditUsed' | 'forTiers'>, now: number): void {
    const { due, creditUsed, forTiers } = paid;
    this.collected += due;
    const again = Math.min(this.#paidCredit, Math.max(0, creditUsed));
    this.#paidCredit -= again;
    const left = Math.max(0, Math.min(forTiers, due + again));
    if (left > 0) this.#grants.push({ left, expires: firstAfter(now) + graceSeconds });
  }

  #afterGrants(use: readonly number[], now: number): number {
    let rest = 0;
    for (const cents of use) {
      let due = cents;
      for (const grant of this.#grants.filter(({ expires }) => expires > now)) {
        const spent = Math.min(due, grant.left);
        grant.left -= spent;
        due -= spent;
      }
      rest += due;
    }
    return rest;
  }

  #takeUse(): number[] {
    const use = (['embed', 'rerank'] as const).map((metric) =>
      Math.round((this.#used[metric] * perMillion[metric]) / 1e6),
    );
    this.#used = { embed: 0, rerank: 0 };
    return use;
  }
}

/** The price of the rest of the month. */
function restOf(tier: PlanTier, now: number): number {
  const end = firstAfter(now);
  return Math.round((monthly[tier] * (end - now)) / (end - firstOf(now)));
}

function firstOf(now: number): number {
  const date = new Date(now * 1_000);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) / 1_000;
}

export function firstAfter(now: number): number {
  const date = new Date(now * 1_000);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1) / 1_000;
}
