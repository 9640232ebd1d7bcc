import { type Call, given, type Handlers, mergedMetadata, pageOf } from './calls.ts';
import { attach, cardNamed, newCard } from './cards.ts';
import { customerOf } from './customers.ts';
import { Refusal } from './refusal.ts';
import { daySeconds, type Thing, type World } from './world.ts';

function create({ world, parameters }: Call): Thing {
  const token = parameters.card?.token;
  if (parameters.type !== 'card' || typeof token !== 'string')
    throw new Refusal('The emulator makes payment methods of type card from a token such as tok_visa only.');
  const card = newCard(world, token);
  card.metadata = mergedMetadata({}, parameters.metadata);
  return card;
}

function detach({ world, ids }: Call): Thing {
  const card = world.get('payment_method', ids[0]!);
  if (card.customer === null)
    throw new Refusal(
      'The payment method you provided is not attached to a customer so detachment is impossible.',
    );
  const customer = world.get('customer', card.customer);
  if (customer.invoice_settings.default_payment_method === card.id)
    customer.invoice_settings.default_payment_method = null;
  for (const subscription of world.all('subscription'))
    if (subscription.default_payment_method === card.id) subscription.default_payment_method = null;
  card.customer = null;
  world.happens('payment_method.detached', card, { customer: customer.id });
  // A card that was taken away cannot come back.
  world.cards.delete(card.id);
  return card;
}

function cardsOf(world: World, customer: string): Thing[] {
  customerOf(world, customer);
  return world.all('payment_method').filter((card) => card.customer === customer);
}

function ownCard({ world, ids }: Call): Thing {
  customerOf(world, ids[0]!);
  const card = world.get('payment_method', ids[1]!);
  if (card.customer !== ids[0])
    throw new Refusal(`No such payment method: '${ids[1]}'`, { status: 404, code: 'resource_missing' });
  return card;
}

function createSetupIntent({ world, parameters }: Call): Thing {
  const intent = world.add({
    id: world.id('seti'),
    object: 'setup_intent',
    attach_to_self: false,
    client_secret: world.id('seti_secret'),
    customer: parameters.customer ?? null,
    flow_directions: null,
    metadata: mergedMetadata({}, parameters.metadata),
    payment_method: null,
    payment_method_types: ['card'],
    status: 'requires_payment_method',
    usage: parameters.usage ?? 'off_session',
  });
  if (typeof parameters.payment_method === 'string')
    intent.payment_method = cardNamed(world, parameters.payment_method).id;
  if (intent.payment_method !== null) intent.status = 'requires_confirmation';
  if (parameters.confirm === true) confirm(world, intent);
  return intent;
}

/** Sets the card up for later payments, which attaches it. */
export function confirm(world: World, intent: Thing): Thing {
  if (intent.payment_method === null)
    throw new Refusal('You cannot confirm this SetupIntent because it is missing a payment method.');
  const card = world.get('payment_method', intent.payment_method);
  if (world.cards.get(card.id) === 'authenticates-once') world.cards.set(card.id, 'pays');
  intent.status = 'succeeded';
  if (intent.customer !== null) attach(world, card, world.get('customer', intent.customer));
  world.happens('setup_intent.succeeded', intent);
  return intent;
}

function createSession({ world, parameters }: Call): Thing {
  if (parameters.mode !== 'setup') throw new Refusal('The emulator offers Checkout in setup mode only.');
  if (parameters.currency === undefined && parameters.payment_method_types === undefined)
    throw new Refusal('You must provide `currency` when `mode` is `setup`.', { param: 'currency' });
  if (parameters.success_url === undefined && (parameters.ui_mode ?? 'hosted_page') === 'hosted_page')
    throw new Refusal('Missing required param: success_url.', {
      code: 'parameter_missing',
      param: 'success_url',
    });
  if (parameters.customer !== undefined) customerOf(world, parameters.customer);
  const id = world.id('cs_test');
  const intent = createSetupIntent({
    world,
    ids: [],
    parameters: { customer: parameters.customer, metadata: parameters.setup_intent_data?.metadata },
  });
  return world.add({
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
    expires_at: world.now + daySeconds,
    metadata: mergedMetadata({}, parameters.metadata),
    mode: 'setup',
    payment_method_options: {},
    payment_method_types: ['card'],
    payment_status: 'no_payment_required',
    setup_intent: intent.id,
    shipping_options: [],
    status: 'open',
    success_url: parameters.success_url ?? null,
    ui_mode: parameters.ui_mode ?? 'hosted_page',
    url: `${world.url}/checkout/${id}`,
  });
}

/** What the customer does on the page of a session. */
export function completeSession(world: World, session: Thing, cardName: string): void {
  if (session.status !== 'open') throw new Refusal('This Checkout Session is not open.');
  const intent = world.get('setup_intent', session.setup_intent);
  intent.payment_method = cardNamed(world, cardName).id;
  confirm(world, intent);
  session.status = 'complete';
  session.url = null;
  world.happens('checkout.session.completed', session);
}

function expire({ world, ids }: Call): Thing {
  const session = world.get('checkout.session', ids[0]!);
  if (session.status !== 'open') throw new Refusal('Only open sessions can be expired.');
  session.status = 'expired';
  session.url = null;
  world.happens('checkout.session.expired', session);
  return session;
}

export const paymentMethods: Handlers = {
  'PaymentMethods.create': create,
  'PaymentMethods.retrieve': ({ world, ids }) => cardNamed(world, ids[0]!),
  'PaymentMethods.update': ({ world, ids, parameters }) => {
    const card = world.get('payment_method', ids[0]!);
    card.metadata = mergedMetadata(card.metadata, parameters.metadata);
    return Object.assign(card, given(parameters, ['billing_details', 'allow_redisplay']));
  },
  'PaymentMethods.attach': ({ world, ids, parameters }) =>
    attach(world, cardNamed(world, ids[0]!), customerOf(world, parameters.customer)),
  'PaymentMethods.detach': detach,
  'PaymentMethods.list': (call) =>
    pageOf(
      call,
      call.parameters.customer === undefined ? [] : cardsOf(call.world, call.parameters.customer),
      '/v1/payment_methods',
    ),
  'Customers.listPaymentMethods': (call) =>
    pageOf(call, cardsOf(call.world, call.ids[0]!), `/v1/customers/${call.ids[0]}/payment_methods`),
  'Customers.retrievePaymentMethod': ownCard,
  'SetupIntents.create': createSetupIntent,
  'SetupIntents.retrieve': ({ world, ids }) => world.get('setup_intent', ids[0]!),
  'SetupIntents.confirm': ({ world, ids, parameters }) => {
    const intent = world.get('setup_intent', ids[0]!);
    if (typeof parameters.payment_method === 'string')
      intent.payment_method = cardNamed(world, parameters.payment_method).id;
    return confirm(world, intent);
  },
  'Checkout/Sessions.create': createSession,
  'Checkout/Sessions.retrieve': ({ world, ids }) => world.get('checkout.session', ids[0]!),
  'Checkout/Sessions.list': (call) =>
    pageOf(call, call.world.all('checkout.session'), '/v1/checkout/sessions'),
  'Checkout/Sessions.expire': expire,
  'PaymentIntents.retrieve': ({ world, ids }) => world.get('payment_intent', ids[0]!),
};
