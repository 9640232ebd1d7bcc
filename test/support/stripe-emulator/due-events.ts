import { finalizeInvoice, voidInvoice } from './invoice-collection.ts';
import { scheduleDueAt, startNextPhase } from './schedule-lifecycle.ts';
import type { StripeObject, StripeState } from './stripe-state.ts';
import {
  collectAndUpdate,
  discardPendingUpdate,
  endSubscription,
  expireFirstPayment,
  paymentSecondsMax,
  periodOf,
  renewSubscription,
} from './subscription-lifecycle.ts';

/** State change that happens at a given time without a request. */
interface DueEvent {
  readonly at: number;
  readonly run: () => void;
}

const stepsMax = 100_000;

/**
 * Runs every event that is due, each at its own time; at equal times, pending updates and schedule phases run
 * before the rest.
 */
export function runDueEvents(state: StripeState): void {
  const now = state.now;
  for (let steps = 0; steps < stepsMax; steps += 1) {
    const [first] = dueEvents(state)
      .filter(({ at }) => at <= now)
      .sort((one, other) => one.at - other.at);
    if (first === undefined) return;
    state.runAt(first.at, first.run);
  }
  throw new Error('due events never end');
}

/** Time of the next due event in seconds; infinity if none is due. */
export function nextDueAt(state: StripeState): number {
  return Math.min(...dueEvents(state).map(({ at }) => at));
}

function dueEvents(state: StripeState): DueEvent[] {
  return [
    ...state.listObjects('subscription').flatMap((subscription) => pendingUpdateDue(state, subscription)),
    ...state.listObjects('subscription_schedule').flatMap((schedule) => scheduleDue(state, schedule)),
    ...state.listObjects('subscription').flatMap((subscription) => periodDue(state, subscription)),
    ...state.listObjects('invoice').flatMap((invoice) => invoiceDue(state, invoice)),
    ...state.listObjects('checkout.session').flatMap((session) => sessionDue(state, session)),
  ];
}

function pendingUpdateDue(state: StripeState, subscription: StripeObject): DueEvent[] {
  if (subscription.status === 'incomplete') {
    const at = subscription.created + paymentSecondsMax;
    return [{ at, run: () => expireFirstPayment(state, subscription) }];
  }
  if (subscription.pending_update === null) return [];
  const at = subscription.pending_update.expires_at;
  return [{ at, run: () => discardPendingUpdate(state, subscription) }];
}

function periodDue(state: StripeState, subscription: StripeObject): DueEvent[] {
  if (subscription.status === 'paused') return resumeDue(state, subscription);
  if (subscription.status !== 'active' && subscription.status !== 'past_due') return [];
  const at = periodOf(subscription).end;
  const sooner = subscription.cancel_at;
  if (sooner !== null && sooner < at)
    return [{ at: sooner, run: () => endSubscription(state, subscription, 'cancellation_requested') }];
  return [{ at, run: () => renewSubscription(state, subscription) }];
}

/** An unpaid resume invoice is voided after `paymentSecondsMax`, and the subscription stays paused. */
function resumeDue(state: StripeState, subscription: StripeObject): DueEvent[] {
  const invoice = state.find(subscription.latest_invoice ?? '');
  if (invoice?.status !== 'open' || !state.resumeInvoices.has(invoice.id)) return [];
  return [{ at: invoice.created + paymentSecondsMax, run: () => voidInvoice(state, invoice) }];
}

function scheduleDue(state: StripeState, schedule: StripeObject): DueEvent[] {
  return schedule.status === 'active'
    ? [{ at: scheduleDueAt(schedule), run: () => startNextPhase(state, schedule) }]
    : [];
}

function invoiceDue(state: StripeState, invoice: StripeObject): DueEvent[] {
  if (invoice.status === 'draft' && invoice.automatically_finalizes_at !== null) {
    const run = () => {
      finalizeInvoice(state, invoice);
      collectAndUpdate(state, invoice);
    };
    return [{ at: invoice.automatically_finalizes_at, run }];
  }
  if (invoice.status === 'open' && invoice.next_payment_attempt !== null)
    return [{ at: invoice.next_payment_attempt, run: () => void collectAndUpdate(state, invoice) }];
  return [];
}

function sessionDue(state: StripeState, session: StripeObject): DueEvent[] {
  const run = () => {
    session.status = 'expired';
    session.url = null;
    state.recordEvent('checkout.session.expired', session);
  };
  return session.status === 'open' ? [{ at: session.expires_at, run }] : [];
}
