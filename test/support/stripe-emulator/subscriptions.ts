import { customerOf } from './customers.ts';
import { StripeApiError } from './stripe-error.ts';
import { type Handlers, pageOfObjects, type StripeRequest } from './stripe-request.ts';
import type { StripeObject } from './stripe-state.ts';
import { create } from './subscription-creation.ts';
import {
  addPendingLines,
  endSubscription,
  expireFirstPayment,
  itemsOf,
  periodOf,
  proratedLine,
} from './subscription-lifecycle.ts';
import { pause, resume } from './subscription-pauses.ts';
import { update } from './subscription-updates.ts';

function cancel({ state, ids, parameters }: StripeRequest): StripeObject {
  const subscription = state.get('subscription', ids[0]!);
  if (['canceled', 'incomplete_expired'].includes(subscription.status))
    throw new StripeApiError(`No such subscription: '${ids[0]}'`, { status: 404, code: 'resource_missing' });
  if (parameters.prorate === true) {
    const { end: until } = periodOf(subscription);
    const credit = itemsOf(subscription)
      .map((item) => proratedLine(state, subscription, item, { from: state.now, end: until, sign: -1 }))
      .filter((line) => line !== null);
    addPendingLines(state, subscription, credit);
  }
  const schedule =
    subscription.schedule === null ? null : state.get('subscription_schedule', subscription.schedule);
  if (schedule !== null) {
    schedule.status = 'canceled';
    schedule.canceled_at = state.now;
    subscription.schedule = null;
    state.recordEvent('subscription_schedule.canceled', schedule);
  }
  if (subscription.status === 'incomplete') expireFirstPayment(state, subscription);
  else endSubscription(state, subscription, 'cancellation_requested');
  return subscription;
}

function list(call: StripeRequest) {
  const { customer, status, price } = call.parameters;
  const ended = ['canceled', 'incomplete_expired'];
  if (customer !== undefined) customerOf(call.state, customer);
  const found = call.state
    .listObjects('subscription')
    .filter((one) => customer === undefined || one.customer === customer)
    .filter((one) => price === undefined || itemsOf(one).some((item) => item.price === price))
    .filter((one) => {
      if (status === undefined) return !ended.includes(one.status);
      if (status === 'all') return true;
      return status === 'ended' ? ended.includes(one.status) : one.status === status;
    });
  return pageOfObjects(call, found, '/v1/subscriptions');
}

export const subscriptionHandlers: Handlers = {
  'Subscriptions.create': create,
  'Subscriptions.update': update,
  'Subscriptions.retrieve': ({ state, ids }) => state.get('subscription', ids[0]!),
  'Subscriptions.list': list,
  'Subscriptions.cancel': cancel,
  'Subscriptions.pause': pause,
  'Subscriptions.resume': resume,
  'SubscriptionItems.list': (call) =>
    pageOfObjects(
      call,
      [...itemsOf(call.state.get('subscription', call.parameters.subscription))].reverse(),
      '/v1/subscription_items',
    ),
};
