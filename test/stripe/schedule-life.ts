import { addMonths } from './calendar.ts';
import { changeOf, end, itemsOf, keepForNextInvoice, periodOf } from './subscription-life.ts';
import type { Thing, World } from './world.ts';

/** What happens to a schedule by itself: its phases begin, and after the last one it ends. */

export function currentPhase(schedule: Thing, now: number): Thing | null {
  const phases = schedule.phases as Thing[];
  return phases.find((phase) => phase.start_date <= now && now < phase.end_date) ?? null;
}

/** When something is due for a schedule that runs: the end of the phase it is in. */
export function dueAt(schedule: Thing): number {
  return schedule.current_phase?.end_date ?? Number.POSITIVE_INFINITY;
}

/** A phase ended: the next one begins, or the schedule ends as it was told to. */
export function nextPhase(world: World, schedule: Thing): void {
  const subscription = world.get('subscription', schedule.subscription);
  const phase = currentPhase(schedule, world.now);
  if (phase === null) {
    finish(world, schedule, subscription);
    return;
  }
  schedule.current_phase = { start_date: phase.start_date, end_date: phase.end_date };
  enter(world, subscription, phase);
  world.happens('subscription_schedule.updated', schedule);
}

function enter(world: World, subscription: Thing, phase: Thing): void {
  const wanted = phase.items as { price: string; quantity?: number }[];
  const before = itemsOf(subscription);
  const changes = wanted.map((item, index) => {
    const same = before.find(({ price }) => price === item.price);
    const id =
      same?.id ?? before.filter(({ price }) => !wanted.some((other) => other.price === price))[index]?.id;
    return {
      ...(id === undefined ? {} : { id }),
      price: item.price,
      ...(item.quantity === undefined ? {} : { quantity: item.quantity }),
    };
  });
  const named = new Set(changes.map(({ id }) => id));
  const removed = before.filter(({ id }) => !named.has(id)).map(({ id }) => ({ id, deleted: true }));
  const isBoundary = periodOf(subscription).end <= world.now;
  const { items, lines } = changeOf(world, subscription, [...changes, ...removed], world.now);
  subscription.items.data = items;
  subscription.discounts = phase.discounts.map(({ discount }: { discount: string }) => discount);
  subscription.default_tax_rates = phase.default_tax_rates;
  if (!isBoundary && phase.proration_behavior !== 'none') keepForNextInvoice(world, subscription, lines);
  world.happens('customer.subscription.updated', subscription);
}

function finish(world: World, schedule: Thing, subscription: Thing): void {
  schedule.current_phase = null;
  subscription.schedule = null;
  if (schedule.end_behavior === 'cancel') {
    schedule.status = 'completed';
    schedule.completed_at = world.now;
    end(world, subscription, 'cancellation_requested');
    world.happens('subscription_schedule.completed', schedule);
    return;
  }
  release(world, schedule);
}

/** Lets the subscription go on alone. */
export function release(world: World, schedule: Thing): void {
  const subscription = world.get('subscription', schedule.subscription);
  subscription.schedule = null;
  schedule.status = 'released';
  schedule.released_at = world.now;
  schedule.released_subscription = schedule.subscription;
  schedule.subscription = null;
  schedule.current_phase = null;
  world.happens('subscription_schedule.released', schedule);
  world.happens('customer.subscription.updated', subscription);
}

export function endOfDuration(
  start: number,
  duration: { interval: string; interval_count?: number },
): number {
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
