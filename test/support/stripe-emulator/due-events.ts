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
    const first = firstDueEvent(state);
    if (first === null || first.at > now) return;
    state.runAt(first.at, first.run);
  }
  throw new Error('due events never end');
}

/** Time of the next due event in seconds; infinity if none is due. */
export function nextDueAt(state: StripeState): number {
  return firstDueEvent(state)?.at ?? Number.POSITIVE_INFINITY;
}

type DueEventFinder = (state: StripeState, object: StripeObject) => DueEvent | null;

/** Kinds of objects with due events; at equal times, the event of the first entry runs. */
const dueEventFinders: readonly (readonly [kind: string, find: DueEventFinder])[] = [
  ['subscription', pendingUpdateDue],
  ['subscription_schedule', scheduleDue],
  ['subscription', periodDue],
  ['invoice', invoiceDue],
  ['checkout.session', sessionDue],
];

/** Called for every request, so it makes no lists. */
function firstDueEvent(state: StripeState): DueEvent | null {
  let first: DueEvent | null = null;
  for (const [kind, find] of dueEventFinders)
    for (const object of state.objectsOf(kind)) {
      const event = find(state, object);
      if (event !== null && (first === null || event.at < first.at)) first = event;
    }
  return first;
}

function pendingUpdateDue(state: StripeState, subscription: StripeObject): DueEvent | null {
  if (subscription.status === 'incomplete') {
    const at = subscription.created + paymentSecondsMax;
    return { at, run: () => expireFirstPayment(state, subscription) };
  }
  if (subscription.pending_update === null) return null;
  const at = subscription.pending_update.expires_at;
  return { at, run: () => discardPendingUpdate(state, subscription) };
}

function periodDue(state: StripeState, subscription: StripeObject): DueEvent | null {
  if (subscription.status === 'paused') return resumeDue(state, subscription);
  if (subscription.status !== 'active' && subscription.status !== 'past_due') return null;
  const at = periodOf(subscription).end;
  const sooner = subscription.cancel_at;
  if (sooner !== null && sooner < at)
    return { at: sooner, run: () => endSubscription(state, subscription, 'cancellation_requested') };
  return { at, run: () => renewSubscription(state, subscription) };
}

/** An unpaid resume invoice is voided after `paymentSecondsMax`, and the subscription stays paused. */
function resumeDue(state: StripeState, subscription: StripeObject): DueEvent | null {
  const invoice = state.find(subscription.latest_invoice ?? '');
  if (invoice?.status !== 'open' || !state.resumeInvoices.has(invoice.id)) return null;
  return { at: invoice.created + paymentSecondsMax, run: () => voidInvoice(state, invoice) };
}

function scheduleDue(state: StripeState, schedule: StripeObject): DueEvent | null {
  return schedule.status === 'active'
    ? { at: scheduleDueAt(schedule), run: () => startNextPhase(state, schedule) }
    : null;
}

function invoiceDue(state: StripeState, invoice: StripeObject): DueEvent | null {
  if (invoice.status === 'draft' && invoice.automatically_finalizes_at !== null) {
    const run = () => {
      finalizeInvoice(state, invoice);
      collectAndUpdate(state, invoice);
    };
    return { at: invoice.automatically_finalizes_at, run };
  }
  if (invoice.status === 'open' && invoice.next_payment_attempt !== null)
    return { at: invoice.next_payment_attempt, run: () => void collectAndUpdate(state, invoice) };
  return null;
}

function sessionDue(state: StripeState, session: StripeObject): DueEvent | null {
  const run = () => {
    session.status = 'expired';
    session.url = null;
    state.recordEvent('checkout.session.expired', session);
  };
  return session.status === 'open' ? { at: session.expires_at, run } : null;
}
