import type { SubscriptionCopy } from '../storage/billing-account.ts';

/**
 * State machine of the paid plan of an organization. A state and an event select one named transition; the code of its
 * effects looks the transition up here. Stripe is the source of truth, so the state is derived from the last read and
 * never stored.
 */

/** `unpaid`: all retries of a renewal failed. `unknown`: a status that this version does not know. */
export type PlanState = 'none' | 'incomplete' | 'active' | 'past_due' | 'unpaid' | 'paused' | 'unknown';

/**
 * Transitions of each requested event. Those whose names start with `reject_` answer with an error and change
 * nothing.
 */
interface RequestedTransitions {
  readonly subscribe: 'start' | 'continue_start' | 'upgrade' | 'pay_invoice' | 'resume';
  readonly downgrade: 'schedule_downgrade' | 'reject_paused' | 'reject_no_subscription';
  readonly cancel_upgrade: 'cancel_start' | 'cancel_upgrade' | 'reject_no_upgrade';
  readonly pause: 'pause' | 'keep_paused' | 'reject_unpaid_invoice' | 'reject_no_subscription';
}

/** Event requested by a user. */
export type PlanEvent = keyof RequestedTransitions;

export type TransitionName<Event extends PlanEvent> = RequestedTransitions[Event];

/** Event in Stripe, caused by a payment or by the calendar. */
type StripeEvent = 'invoice_paid' | 'payment_declined' | 'retries_exhausted' | 'period_ended';

export interface PlanTransition<Name extends string = string> {
  readonly name: Name;
  /** Possible states after the transition; empty if the state does not change. */
  readonly to: readonly PlanState[];
}

type RequestedTable = {
  readonly [Event in PlanEvent]: Readonly<Record<PlanState, PlanTransition<TransitionName<Event>>>>;
};

type StripeTable = Readonly<Record<StripeEvent, Readonly<Partial<Record<PlanState, PlanTransition>>>>>;

/** Conditions on tiers, prices and pending changes are checked by the code of the effects. */
export const requestedTransitions: RequestedTable = {
  subscribe: {
    none: { name: 'start', to: ['incomplete', 'active', 'none'] },
    incomplete: { name: 'continue_start', to: ['incomplete', 'active', 'none'] },
    active: { name: 'upgrade', to: [] },
    past_due: { name: 'pay_invoice', to: ['past_due', 'active'] },
    unpaid: { name: 'pay_invoice', to: ['unpaid', 'active'] },
    paused: { name: 'resume', to: ['paused', 'active'] },
    unknown: { name: 'upgrade', to: [] },
  },
  downgrade: {
    none: { name: 'reject_no_subscription', to: [] },
    incomplete: { name: 'reject_no_subscription', to: [] },
    active: { name: 'schedule_downgrade', to: [] },
    past_due: { name: 'schedule_downgrade', to: [] },
    unpaid: { name: 'reject_no_subscription', to: [] },
    paused: { name: 'reject_paused', to: [] },
    unknown: { name: 'reject_no_subscription', to: [] },
  },
  cancel_upgrade: {
    none: { name: 'reject_no_upgrade', to: [] },
    incomplete: { name: 'cancel_start', to: ['none'] },
    active: { name: 'cancel_upgrade', to: [] },
    past_due: { name: 'cancel_upgrade', to: [] },
    unpaid: { name: 'cancel_upgrade', to: [] },
    paused: { name: 'cancel_upgrade', to: [] },
    unknown: { name: 'cancel_upgrade', to: [] },
  },
  pause: {
    none: { name: 'reject_no_subscription', to: [] },
    incomplete: { name: 'reject_no_subscription', to: [] },
    active: { name: 'pause', to: ['paused'] },
    past_due: { name: 'reject_unpaid_invoice', to: [] },
    unpaid: { name: 'reject_unpaid_invoice', to: [] },
    paused: { name: 'keep_paused', to: [] },
    unknown: { name: 'reject_no_subscription', to: [] },
  },
};

/** Changes that Stripe makes on its own. The next read detects them. */
export const stripeTransitions: StripeTable = {
  invoice_paid: {
    incomplete: { name: 'activate', to: ['active'] },
    past_due: { name: 'recover', to: ['active'] },
    unpaid: { name: 'recover', to: ['active'] },
  },
  payment_declined: { active: { name: 'mark_past_due', to: ['past_due'] } },
  retries_exhausted: { past_due: { name: 'suspend', to: ['unpaid', 'none'] } },
  period_ended: {
    incomplete: { name: 'expire', to: ['none'] },
    active: { name: 'end', to: ['none'] },
    past_due: { name: 'end', to: ['none'] },
  },
};

interface StateProperties {
  readonly stripeStatuses: readonly string[];
  /** Whether the plan grants its tier. Stripe retries overdue payments for a while, so `past_due` does. */
  readonly isServing: boolean;
  /** Whether a first payment was made. */
  readonly hasStarted: boolean;
}

const states: Readonly<Record<PlanState, StateProperties>> = {
  none: { stripeStatuses: [], isServing: false, hasStarted: false },
  incomplete: { stripeStatuses: ['incomplete'], isServing: false, hasStarted: false },
  active: { stripeStatuses: ['active', 'trialing'], isServing: true, hasStarted: true },
  past_due: { stripeStatuses: ['past_due'], isServing: true, hasStarted: true },
  unpaid: { stripeStatuses: ['unpaid'], isServing: false, hasStarted: true },
  paused: { stripeStatuses: ['paused'], isServing: false, hasStarted: true },
  unknown: { stripeStatuses: [], isServing: false, hasStarted: false },
};

export const planStates = Object.keys(states) as readonly PlanState[];

const statesByStatus: ReadonlyMap<string, PlanState> = new Map(
  planStates.flatMap((state) => states[state].stripeStatuses.map((status) => [status, state] as const)),
);

type SubscriptionStatus = Pick<SubscriptionCopy, 'status'>;

export function planStateOf(subscription: SubscriptionStatus | null): PlanState {
  return subscription === null ? 'none' : (statesByStatus.get(subscription.status) ?? 'unknown');
}

/** Returns the transition of an event in the current state. */
export function planTransitionOf<Event extends PlanEvent>(
  event: Event,
  subscription: SubscriptionStatus | null,
): TransitionName<Event> {
  return requestedTransitions[event][planStateOf(subscription)].name;
}

/** Whether a subscription grants its tier. Its payment may still be outstanding. */
export function isServing(subscription: SubscriptionStatus | null): boolean {
  return states[planStateOf(subscription)].isServing;
}

/** Whether a first payment was made for a subscription. */
export function hasStarted(subscription: SubscriptionStatus): boolean {
  return states[planStateOf(subscription)].hasStarted;
}

/**
 * Returns the names of the transitions that lead from one state to another. Empty if none does: then several
 * transitions happened between two reads, or a person changed the subscription in Stripe.
 */
export function transitionsBetween(from: PlanState, to: PlanState): readonly string[] {
  const tables: readonly Readonly<Partial<Record<PlanState, PlanTransition>>>[] = [
    ...Object.values(requestedTransitions),
    ...Object.values(stripeTransitions),
  ];
  return tables.flatMap(({ [from]: transition }) =>
    transition?.to.includes(to) === true ? [transition.name] : [],
  );
}
