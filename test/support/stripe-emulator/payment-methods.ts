import { attachCard, createCard, findCard } from './cards.ts';
import { customerOf } from './customers.ts';
import { StripeApiError } from './stripe-error.ts';
import {
  type Handlers,
  mergeMetadata,
  pageOfObjects,
  pickParameters,
  type StripeRequest,
} from './stripe-request.ts';
import { daySeconds, type StripeObject, type StripeState } from './stripe-state.ts';

function create({ state, parameters }: StripeRequest): StripeObject {
  const token = parameters.card?.token;
  if (parameters.type !== 'card' || typeof token !== 'string')
    throw new StripeApiError(
      'The emulator makes payment methods of type card from a token such as tok_visa only.',
    );
  const card = createCard(state, token);
  card.metadata = mergeMetadata({}, parameters.metadata);
  return card;
}

function detach({ state, ids }: StripeRequest): StripeObject {
  const card = state.get('payment_method', ids[0]!);
  if (card.customer === null)
    throw new StripeApiError(
      'The payment method you provided is not attached to a customer so detachment is impossible.',
    );
  const customer = state.get('customer', card.customer);
  if (customer.invoice_settings.default_payment_method === card.id)
    customer.invoice_settings.default_payment_method = null;
  for (const subscription of state.listObjects('subscription'))
    if (subscription.default_payment_method === card.id) subscription.default_payment_method = null;
  card.customer = null;
  state.recordEvent('payment_method.detached', card, { customer: customer.id });
  // A detached card cannot be attached again.
  state.cards.delete(card.id);
  return card;
}

function cardsOf(state: StripeState, customer: string): StripeObject[] {
  customerOf(state, customer);
  return state.listObjects('payment_method').filter((card) => card.customer === customer);
}

function customerCardOf({ state, ids }: StripeRequest): StripeObject {
  customerOf(state, ids[0]!);
  const card = state.get('payment_method', ids[1]!);
  if (card.customer !== ids[0])
    throw new StripeApiError(`No such payment method: '${ids[1]}'`, {
      status: 404,
      code: 'resource_missing',
    });
  return card;
}

function createSetupIntent({ state, parameters }: StripeRequest): StripeObject {
  const intent = state.add({
    id: state.nextId('seti'),
    object: 'setup_intent',
    attach_to_self: false,
    client_secret: state.nextId('seti_secret'),
    customer: parameters.customer ?? null,
    flow_directions: null,
    metadata: mergeMetadata({}, parameters.metadata),
    payment_method: null,
    payment_method_types: ['card'],
    status: 'requires_payment_method',
    usage: parameters.usage ?? 'off_session',
  });
  if (typeof parameters.payment_method === 'string')
    intent.payment_method = findCard(state, parameters.payment_method).id;
  if (intent.payment_method !== null) intent.status = 'requires_confirmation';
  if (parameters.confirm === true) confirmSetupIntent(state, intent);
  return intent;
}

/** Prepares the card for later payments and attaches it to the customer. */
export function confirmSetupIntent(state: StripeState, intent: StripeObject): StripeObject {
  if (intent.payment_method === null)
    throw new StripeApiError('You cannot confirm this SetupIntent because it is missing a payment method.');
  const card = state.get('payment_method', intent.payment_method);
  if (state.cards.get(card.id) === 'authenticates-once') state.cards.set(card.id, 'pays');
  intent.status = 'succeeded';
  if (intent.customer !== null) attachCard(state, card, state.get('customer', intent.customer));
  state.recordEvent('setup_intent.succeeded', intent);
  return intent;
}

function createCheckoutSession({ state, parameters }: StripeRequest): StripeObject {
  if (parameters.mode !== 'setup')
    throw new StripeApiError('The emulator offers Checkout in setup mode only.');
  if (parameters.currency === undefined && parameters.payment_method_types === undefined)
    throw new StripeApiError('You must provide `currency` when `mode` is `setup`.', { param: 'currency' });
  if (parameters.success_url === undefined && (parameters.ui_mode ?? 'hosted_page') === 'hosted_page')
    throw new StripeApiError('Missing required param: success_url.', {
      code: 'parameter_missing',
      param: 'success_url',
    });
  if (parameters.customer !== undefined) customerOf(state, parameters.customer);
  const id = state.nextId('cs_test');
  const intent = createSetupIntent({
    state,
    ids: [],
    parameters: { customer: parameters.customer, metadata: parameters.setup_intent_data?.metadata },
  });
  return state.add({
    id,
    object: 'checkout.session',
    allowed_payment_method_types: parameters.allowed_payment_method_types ?? null,
    automatic_tax: { enabled: false, liability: null, provider: null, status: null },
    cancel_url: parameters.cancel_url ?? null,
    client_reference_id: parameters.client_reference_id ?? null,
    currency: parameters.currency ?? null,
    custom_fields: [],
    custom_text: {
      after_submit: null,
      shipping_address: null,
      submit: null,
      terms_of_service_acceptance: null,
    },
    customer: parameters.customer ?? null,
    customer_creation: null,
    customer_details: null,
    expires_at: state.now + daySeconds,
    metadata: mergeMetadata({}, parameters.metadata),
    mode: 'setup',
    payment_method_options: {},
    payment_method_types: ['card'],
    payment_status: 'no_payment_required',
    setup_intent: intent.id,
    shipping_options: [],
    status: 'open',
    success_url: parameters.success_url ?? null,
    ui_mode: parameters.ui_mode ?? 'hosted_page',
    url: `${state.pagesUrl}/checkout/${id}`,
  });
}

/** Submits the page of a Checkout session as the customer. */
export function completeCheckoutSession(state: StripeState, session: StripeObject, cardName: string): void {
  if (session.status !== 'open') throw new StripeApiError('This Checkout Session is not open.');
  const intent = state.get('setup_intent', session.setup_intent);
  intent.payment_method = findCard(state, cardName).id;
  confirmSetupIntent(state, intent);
  session.status = 'complete';
  session.url = null;
  state.recordEvent('checkout.session.completed', session);
}

function expireSession({ state, ids }: StripeRequest): StripeObject {
  const session = state.get('checkout.session', ids[0]!);
  if (session.status !== 'open') throw new StripeApiError('Only open sessions can be expired.');
  session.status = 'expired';
  session.url = null;
  state.recordEvent('checkout.session.expired', session);
  return session;
}

export const paymentMethodHandlers: Handlers = {
  'PaymentMethods.create': create,
  'PaymentMethods.retrieve': ({ state, ids }) => findCard(state, ids[0]!),
  'PaymentMethods.update': ({ state, ids, parameters }) => {
    const card = state.get('payment_method', ids[0]!);
    card.metadata = mergeMetadata(card.metadata, parameters.metadata);
    return Object.assign(card, pickParameters(parameters, ['billing_details', 'allow_redisplay']));
  },
  'PaymentMethods.attach': ({ state, ids, parameters }) =>
    attachCard(state, findCard(state, ids[0]!), customerOf(state, parameters.customer)),
  'PaymentMethods.detach': detach,
  'PaymentMethods.list': (call) =>
    pageOfObjects(
      call,
      call.parameters.customer === undefined ? [] : cardsOf(call.state, call.parameters.customer),
      '/v1/payment_methods',
    ),
  'Customers.listPaymentMethods': (call) =>
    pageOfObjects(call, cardsOf(call.state, call.ids[0]!), `/v1/customers/${call.ids[0]}/payment_methods`),
  'Customers.retrievePaymentMethod': customerCardOf,
  'SetupIntents.create': createSetupIntent,
  'SetupIntents.retrieve': ({ state, ids }) => state.get('setup_intent', ids[0]!),
  'SetupIntents.confirm': ({ state, ids, parameters }) => {
    const intent = state.get('setup_intent', ids[0]!);
    if (typeof parameters.payment_method === 'string')
      intent.payment_method = findCard(state, parameters.payment_method).id;
    return confirmSetupIntent(state, intent);
  },
  'Checkout/Sessions.create': createCheckoutSession,
  'Checkout/Sessions.retrieve': ({ state, ids }) => state.get('checkout.session', ids[0]!),
  'Checkout/Sessions.list': (call) =>
    pageOfObjects(call, call.state.listObjects('checkout.session'), '/v1/checkout/sessions'),
  'Checkout/Sessions.expire': expireSession,
  'PaymentIntents.retrieve': ({ state, ids }) => state.get('payment_intent', ids[0]!),
};
