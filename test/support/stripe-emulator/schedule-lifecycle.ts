import { addMonths } from './calendar.ts';
import type { StripeObject, StripeState } from './stripe-state.ts';
import {
  addPendingLines,
  computeItemChanges,
  endSubscription,
  itemsOf,
  periodOf,
} from './subscription-lifecycle.ts';

/** Automatic transitions of a schedule: its phases start in order, and the schedule ends after the last one. */

export function currentPhase(schedule: StripeObject, now: number): StripeObject | null {
  const phases = schedule.phases as StripeObject[];
  return phases.find((phase) => phase.start_date <= now && now < phase.end_date) ?? null;
}

/** Time of the next event of an active schedule: the end of its current phase. */
export function scheduleDueAt(schedule: StripeObject): number {
  return schedule.current_phase?.end_date ?? Number.POSITIVE_INFINITY;
}

/** Starts the phase that follows, or ends the schedule as its `end_behavior` specifies. */
export function startNextPhase(state: StripeState, schedule: StripeObject): void {
  const subscription = state.get('subscription', schedule.subscription);
  const phase = currentPhase(schedule, state.now);
  if (phase === null) {
    finishSchedule(state, schedule, subscription);
    return;
  }
  schedule.current_phase = { start_date: phase.start_date, end_date: phase.end_date };
  enterPhase(state, subscription, phase);
  state.recordEvent('subscription_schedule.updated', schedule);
}

function enterPhase(state: StripeState, subscription: StripeObject, phase: StripeObject): void {
  const targetItems = phase.items as { price: string; quantity?: number }[];
  const before = itemsOf(subscription);
  const changes = targetItems.map((item, index) => {
    const same = before.find(({ price }) => price === item.price);
    const id =
      same?.id ??
      before.filter(({ price }) => !targetItems.some((other) => other.price === price))[index]?.id;
    return {
      ...(id === undefined ? {} : { id }),
      price: item.price,
      ...(item.quantity === undefined ? {} : { quantity: item.quantity }),
    };
  });
  const named = new Set(changes.map(({ id }) => id));
  const removed = before.filter(({ id }) => !named.has(id)).map(({ id }) => ({ id, deleted: true }));
  const isBoundary = periodOf(subscription).end <= state.now;
  const { items, lines } = computeItemChanges(state, subscription, [...changes, ...removed], state.now);
  subscription.items.data = items;
  subscription.discounts = phase.discounts.map(({ discount }: { discount: string }) => discount);
  subscription.default_tax_rates = phase.default_tax_rates;
  if (!isBoundary && phase.proration_behavior !== 'none') addPendingLines(state, subscription, lines);
  state.recordEvent('customer.subscription.updated', subscription);
}

function finishSchedule(state: StripeState, schedule: StripeObject, subscription: StripeObject): void {
  schedule.current_phase = null;
  subscription.schedule = null;
  if (schedule.end_behavior === 'cancel') {
    schedule.status = 'completed';
    schedule.completed_at = state.now;
    endSubscription(state, subscription, 'cancellation_requested');
    state.recordEvent('subscription_schedule.completed', schedule);
    return;
  }
  releaseSchedule(state, schedule);
}

/** Detaches the schedule; the subscription continues without it. */
export function releaseSchedule(state: StripeState, schedule: StripeObject): void {
  const subscription = state.get('subscription', schedule.subscription);
  subscription.schedule = null;
  schedule.status = 'released';
  schedule.released_at = state.now;
  schedule.released_subscription = schedule.subscription;
  schedule.subscription = null;
  schedule.current_phase = null;
  state.recordEvent('subscription_schedule.released', schedule);
  state.recordEvent('customer.subscription.updated', subscription);
}

export function phaseEndOf(start: number, duration: { interval: string; interval_count?: number }): number {
  const count = duration.interval_count ?? 1;
  switch (duration.interval) {
    case 'month':
      return addMonths(start, count);
    case 'year':
      return addMonths(start, 12 * count);
    case 'week':
      return start + count * 7 * 86_400;
    default:
      return start + count * 86_400;
  }
}
