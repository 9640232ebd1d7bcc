import { finalise, voidInvoice } from './invoicing.ts';
import { dueAt, nextPhase } from './schedule-life.ts';
import {
  collectAndReact,
  discardPendingUpdate,
  end,
  giveUpFirstPayment,
  paymentSecondsMax,
  periodOf,
  renew,
} from './subscription-life.ts';
import type { Thing, World } from './world.ts';

/** What is due at a time, by itself. */
interface Due {
  readonly at: number;
  readonly happen: () => void;
}

const stepsMax = 100_000;

/** Everything that was due up to now happens, each at its own time; of two at one time phases and updates are first. */
export function catchUp(world: World): void {
  const now = world.now;
  for (let steps = 0; steps < stepsMax; steps += 1) {
    const [first] = allDue(world)
      .filter(({ at }) => at <= now)
      .sort((one, other) => one.at - other.at);
    if (first === undefined) return;
    world.at(first.at, first.happen);
  }
  throw new Error('time does not come to rest');
}

/** When the next thing is due by itself; infinitely late when nothing is. */
export function nextDue(world: World): number {
  return Math.min(...allDue(world).map(({ at }) => at));
}

function allDue(world: World): Due[] {
  return [
    ...world.all('subscription').flatMap((subscription) => pendingDue(world, subscription)),
    ...world.all('subscription_schedule').flatMap((schedule) => scheduleDue(world, schedule)),
    ...world.all('subscription').flatMap((subscription) => periodDue(world, subscription)),
    ...world.all('invoice').flatMap((invoice) => invoiceDue(world, invoice)),
    ...world.all('checkout.session').flatMap((session) => sessionDue(world, session)),
  ];
}

function pendingDue(world: World, subscription: Thing): Due[] {
  if (subscription.status === 'incomplete') {
    const at = subscription.created + paymentSecondsMax;
    return [{ at, happen: () => giveUpFirstPayment(world, subscription) }];
  }
  if (subscription.pending_update === null) return [];
  const at = subscription.pending_update.expires_at;
  return [{ at, happen: () => discardPendingUpdate(world, subscription) }];
}

function periodDue(world: World, subscription: Thing): Due[] {
  if (subscription.status === 'paused') return resumptionDue(world, subscription);
  if (subscription.status !== 'active' && subscription.status !== 'past_due') return [];
  const at = periodOf(subscription).end;
  const sooner = subscription.cancel_at;
  if (sooner !== null && sooner < at)
    return [{ at: sooner, happen: () => end(world, subscription, 'cancellation_requested') }];
  return [{ at, happen: () => renew(world, subscription) }];
}

/** What nobody pays to resume is void after a day, and the pause goes on. */
function resumptionDue(world: World, subscription: Thing): Due[] {
  const invoice = world.find(subscription.latest_invoice ?? '');
  if (invoice?.status !== 'open' || !world.resumptions.has(invoice.id)) return [];
  return [{ at: invoice.created + paymentSecondsMax, happen: () => voidInvoice(world, invoice) }];
}

function scheduleDue(world: World, schedule: Thing): Due[] {
  return schedule.status === 'active'
    ? [{ at: dueAt(schedule), happen: () => nextPhase(world, schedule) }]
    : [];
}

function invoiceDue(world: World, invoice: Thing): Due[] {
  if (invoice.status === 'draft' && invoice.automatically_finalizes_at !== null) {
    const happen = () => {
      finalise(world, invoice);
      collectAndReact(world, invoice);
    };
    return [{ at: invoice.automatically_finalizes_at, happen }];
  }
  if (invoice.status === 'open' && invoice.next_payment_attempt !== null)
    return [{ at: invoice.next_payment_attempt, happen: () => void collectAndReact(world, invoice) }];
  return [];
}

function sessionDue(world: World, session: Thing): Due[] {
  const happen = () => {
    session.status = 'expired';
    session.url = null;
    world.happens('checkout.session.expired', session);
  };
  return session.status === 'open' ? [{ at: session.expires_at, happen }] : [];
}
