import type { SubscriptionCopy } from '../storage/billing.ts';

/**
 * State machine of the paid plan of an organization. Stripe is the source of truth, so the state is derived from
 * the last read and never stored. Changes by time and by payments happen at Stripe and are seen in the next read.
 */

/** `unpaid`: all retries of a renewal failed. `unknown`: a status that this version does not know. */
export type PlanState = 'none' | 'incomplete' | 'active' | 'past_due' | 'unpaid' | 'paused' | 'unknown';

/** Effects of each event. The names of rejections start with `reject_`; they change nothing. */
interface PlanEffects {
  readonly subscribe: 'start' | 'continue_start' | 'upgrade' | 'pay_invoice' | 'resume';
  readonly downgrade: 'schedule_downgrade' | 'reject_paused' | 'reject_no_subscription';
  readonly cancel_upgrade: 'cancel_start' | 'cancel_upgrade' | 'reject_no_upgrade';
  readonly pause: 'pause' | 'keep_paused' | 'reject_unpaid_invoice' | 'reject_no_subscription';
}

export type PlanEvent = keyof PlanEffects;

export interface PlanTransition<Effect extends string = string> {
  readonly effect: Effect;
  /** Possible states after the effect; empty if the state does not change. */
  readonly to: readonly PlanState[];
}

type PlanTransitions = {
  readonly [Event in PlanEvent]: Readonly<Record<PlanState, PlanTransition<PlanEffects[Event]>>>;
};

/** Conditions on tiers, prices and pending changes are checked by the code of the effects. */
export const planTransitions: PlanTransitions = {
  subscribe: {
    none: { effect: 'start', to: ['incomplete', 'active', 'none'] },
    incomplete: { effect: 'continue_start', to: ['incomplete', 'active', 'none'] },
    active: { effect: 'upgrade', to: [] },
    past_due: { effect: 'pay_invoice', to: ['past_due', 'active'] },
    unpaid: { effect: 'pay_invoice', to: ['unpaid', 'active'] },
    paused: { effect: 'resume', to: ['paused', 'active'] },
    unknown: { effect: 'upgrade', to: [] },
  },
  downgrade: {
    none: { effect: 'reject_no_subscription', to: [] },
    incomplete: { effect: 'reject_no_subscription', to: [] },
    active: { effect: 'schedule_downgrade', to: [] },
    past_due: { effect: 'schedule_downgrade', to: [] },
    unpaid: { effect: 'reject_no_subscription', to: [] },
    paused: { effect: 'reject_paused', to: [] },
    unknown: { effect: 'reject_no_subscription', to: [] },
  },
  cancel_upgrade: {
    none: { effect: 'reject_no_upgrade', to: [] },
    incomplete: { effect: 'cancel_start', to: ['none'] },
    active: { effect: 'cancel_upgrade', to: [] },
    past_due: { effect: 'cancel_upgrade', to: [] },
    unpaid: { effect: 'cancel_upgrade', to: [] },
    paused: { effect: 'cancel_upgrade', to: [] },
    unknown: { effect: 'cancel_upgrade', to: [] },
  },
  pause: {
    none: { effect: 'reject_no_subscription', to: [] },
    incomplete: { effect: 'reject_no_subscription', to: [] },
    active: { effect: 'pause', to: ['paused'] },
    past_due: { effect: 'reject_unpaid_invoice', to: [] },
    unpaid: { effect: 'reject_unpaid_invoice', to: [] },
    paused: { effect: 'keep_paused', to: [] },
    unknown: { effect: 'reject_no_subscription', to: [] },
  },
};

const statesByStatus: ReadonlyMap<string, PlanState> = new Map<string, PlanState>([
  ['incomplete', 'incomplete'],
  ['active', 'active'],
  ['trialing', 'active'],
  ['past_due', 'past_due'],
  ['unpaid', 'unpaid'],
  ['paused', 'paused'],
]);

export function planStateOf(subscription: Pick<SubscriptionCopy, 'status'> | null): PlanState {
  return subscription === null ? 'none' : (statesByStatus.get(subscription.status) ?? 'unknown');
}

/** Returns the effect of an event in the current state. */
export function planEffectOf<Event extends PlanEvent>(
  event: Event,
  subscription: Pick<SubscriptionCopy, 'status'> | null,
): PlanEffects[Event] {
  return planTransitions[event][planStateOf(subscription)].effect;
}
