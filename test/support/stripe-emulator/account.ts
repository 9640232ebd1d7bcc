import { customerOf } from './customers.ts';
import { StripeApiError } from './stripe-error.ts';
import {
  type Handlers,
  mergeMetadata,
  pageOfObjects,
  pickParameters,
  type StripeRequest,
} from './stripe-request.ts';
import type { StripeEvent, StripeObject, StripeState } from './stripe-state.ts';

/** Request handlers of the customer portal, webhook endpoints, events and test clocks. */

export const apiVersion = '2026-10-28.endive';

const portalFields = ['active', 'business_profile', 'default_return_url', 'features', 'login_page', 'name'];

function createConfiguration({ state, parameters }: StripeRequest): StripeObject {
  const isFirst = state.listObjects('billing_portal.configuration').length === 0;
  return state.add({
    id: state.nextId('bpc'),
    object: 'billing_portal.configuration',
    active: true,
    application: null,
    business_profile: {
      headline: null,
      privacy_policy_url: null,
      terms_of_service_url: null,
      ...parameters.business_profile,
    },
    default_return_url: parameters.default_return_url || null,
    features: portalFeaturesOf(parameters.features),
    is_default: isFirst,
    login_page: { enabled: parameters.login_page?.enabled ?? false, url: null },
    metadata: mergeMetadata({}, parameters.metadata),
    name: parameters.name ?? null,
    updated: state.now,
  });
}

/** Features absent from the request are disabled. */
function portalFeaturesOf(features: StripeRequest['parameters'] = {}) {
  const { customer_update: update, invoice_history: history, payment_method_update: method } = features;
  const { subscription_cancel: cancel, subscription_update: change } = features;
  return {
    customer_update: { allowed_updates: update?.allowed_updates || [], enabled: update?.enabled ?? false },
    invoice_history: { enabled: history?.enabled ?? false },
    payment_method_update: { enabled: method?.enabled ?? false, payment_method_configuration: null },
    subscription_cancel: {
      cancellation_reason: { enabled: false, options: [] },
      enabled: cancel?.enabled ?? false,
      mode: cancel?.mode ?? 'at_period_end',
      proration_behavior: cancel?.proration_behavior ?? 'none',
    },
    subscription_pause: {
      duration: { type: 'indefinite' },
      enabled: features.subscription_pause?.enabled ?? false,
    },
    subscription_update: {
      billing_cycle_anchor: null,
      default_allowed_updates: change?.default_allowed_updates || [],
      enabled: change?.enabled ?? false,
      proration_behavior: change?.proration_behavior ?? 'none',
      schedule_at_period_end: { conditions: [] },
      trial_update_behavior: 'end_trial',
    },
  };
}

function updateConfiguration({ state, ids, parameters }: StripeRequest): StripeObject {
  const configuration = state.get('billing_portal.configuration', ids[0]!);
  const { features, metadata, ...rest } = parameters;
  if (features !== undefined)
    configuration.features = portalFeaturesOf({ ...configuration.features, ...features });
  configuration.metadata = mergeMetadata(configuration.metadata, metadata);
  return Object.assign(configuration, pickParameters(rest, portalFields), { updated: state.now });
}

function createPortalSession({ state, parameters }: StripeRequest): StripeObject {
  const customer = customerOf(state, parameters.customer ?? '');
  const configurations = state.listObjects('billing_portal.configuration');
  const configurationId = parameters.configuration;
  const configuration =
    configurationId === undefined
      ? configurations.find((one) => one.is_default)
      : state.get('billing_portal.configuration', configurationId);
  if (configuration === undefined)
    throw new StripeApiError(
      'No configuration provided and your test mode default configuration has not been created. Provide a configuration or create your default by saving your customer portal settings in test mode.',
    );
  const id = state.nextId('bps');
  return state.add({
    id,
    object: 'billing_portal.session',
    configuration: configuration.id,
    customer: customer.id,
    flow: null,
    locale: parameters.locale ?? null,
    on_behalf_of: null,
    return_url: parameters.return_url ?? configuration.default_return_url,
    url: `${state.pagesUrl}/portal/${id}`,
  });
}

function createEndpoint({ state, parameters }: StripeRequest): StripeObject {
  return state.add({
    id: state.nextId('we'),
    object: 'webhook_endpoint',
    api_version: parameters.api_version ?? null,
    application: null,
    description: parameters.description ?? null,
    enabled_events: parameters.enabled_events,
    metadata: mergeMetadata({}, parameters.metadata),
    secret: state.nextId('whsec'),
    status: 'enabled',
    url: parameters.url,
  });
}

/** Stripe returns the secret only when the endpoint is created. */
function hideSecret(endpoint: StripeObject): StripeObject {
  return { ...endpoint, secret: undefined };
}

function updateEndpoint({ state, ids, parameters }: StripeRequest): StripeObject {
  const endpoint = state.get('webhook_endpoint', ids[0]!);
  endpoint.metadata = mergeMetadata(endpoint.metadata, parameters.metadata);
  Object.assign(endpoint, pickParameters(parameters, ['url', 'enabled_events', 'description']));
  if (parameters.disabled !== undefined) endpoint.status = parameters.disabled ? 'disabled' : 'enabled';
  return hideSecret(endpoint);
}

/** Event object as Stripe lists it and sends it to webhooks. */
export function toStripeEvent(event: StripeEvent, object: unknown): StripeObject {
  return {
    id: event.id,
    object: 'event',
    api_version: apiVersion,
    created: event.created,
    data: { object, ...(event.previous === null ? {} : { previous_attributes: event.previous }) },
    livemode: false,
    pending_webhooks: 0,
    request: { id: null, idempotency_key: null },
    type: event.type,
  };
}

function listEvents(call: StripeRequest, toEvent: (event: StripeEvent) => StripeObject) {
  const { type, types } = call.parameters;
  const found = call.state.events
    .filter(
      (one) =>
        type === undefined ||
        one.type === type ||
        (type.endsWith('.*') && one.type.startsWith(type.slice(0, -1))),
    )
    .filter((one) => types === undefined || types.includes(one.type));
  return pageOfObjects(call, found.map(toEvent), '/v1/events');
}

/** `toEvent` builds the event object; `advanceTo` moves the clock. */
export function accountHandlers(
  toEvent: (event: StripeEvent) => StripeObject,
  advanceTo: (state: StripeState, seconds: number) => void,
): Handlers {
  return {
    'BillingPortal/Configurations.create': createConfiguration,
    'BillingPortal/Configurations.update': updateConfiguration,
    'BillingPortal/Configurations.retrieve': ({ state, ids }) =>
      state.get('billing_portal.configuration', ids[0]!),
    'BillingPortal/Configurations.list': (call) => {
      const { active, is_default: isDefault } = call.parameters;
      const found = call.state
        .listObjects('billing_portal.configuration')
        .filter((one) => active === undefined || one.active === active)
        .filter((one) => isDefault === undefined || one.is_default === isDefault);
      return pageOfObjects(call, found, '/v1/billing_portal/configurations');
    },
    'BillingPortal/Sessions.create': createPortalSession,
    'WebhookEndpoints.create': createEndpoint,
    'WebhookEndpoints.update': updateEndpoint,
    'WebhookEndpoints.retrieve': ({ state, ids }) => hideSecret(state.get('webhook_endpoint', ids[0]!)),
    'WebhookEndpoints.list': (call) =>
      pageOfObjects(
        call,
        call.state.listObjects('webhook_endpoint').map(hideSecret),
        '/v1/webhook_endpoints',
      ),
    'WebhookEndpoints.del': ({ state, ids }) => {
      const { id } = state.get('webhook_endpoint', ids[0]!);
      state.remove(id);
      return { id, object: 'webhook_endpoint', deleted: true };
    },
    'Events.list': (call) => listEvents(call, toEvent),
    'Events.retrieve': ({ state, ids }) => {
      const found = state.events.find(({ id }) => id === ids[0]);
      if (found === undefined)
        throw new StripeApiError(`No such event: '${ids[0]}'`, { status: 404, code: 'resource_missing' });
      return toEvent(found);
    },
    'TestHelpers/TestClocks.create': ({ state, parameters }) =>
      state.add({
        id: state.nextId('clock'),
        object: 'test_helpers.test_clock',
        deletes_after: state.now + 30 * 86_400,
        frozen_time: parameters.frozen_time,
        name: parameters.name ?? null,
        status: 'ready',
        status_details: {},
      }),
    'TestHelpers/TestClocks.retrieve': ({ state, ids }) => state.get('test_helpers.test_clock', ids[0]!),
    // All test clocks share the clock of the emulator: advancing one advances all.
    'TestHelpers/TestClocks.advance': ({ state, ids, parameters }) => {
      const clock = state.get('test_helpers.test_clock', ids[0]!);
      advanceTo(state, parameters.frozen_time);
      return Object.assign(clock, { frozen_time: parameters.frozen_time });
    },
  };
}
