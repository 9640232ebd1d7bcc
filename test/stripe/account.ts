import { type Call, given, type Handlers, mergedMetadata, pageOf } from './calls.ts';
import { customerOf } from './customers.ts';
import { Refusal } from './refusal.ts';
import type { Happening, Thing, World } from './world.ts';

/** The customer portal, webhook endpoints, events and test clocks. */

export const apiVersion = '2026-10-28.endive';

const portalFields = ['active', 'business_profile', 'default_return_url', 'features', 'login_page', 'name'];

function createConfiguration({ world, parameters }: Call): Thing {
  const isFirst = world.all('billing_portal.configuration').length === 0;
  return world.add({
    id: world.id('bpc'),
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
    features: featuresOf(parameters.features),
    is_default: isFirst,
    login_page: { enabled: parameters.login_page?.enabled ?? false, url: null },
    metadata: mergedMetadata({}, parameters.metadata),
    name: parameters.name ?? null,
    updated: world.now,
  });
}

/** Everything is off that was not asked for. */
function featuresOf(features: Call['parameters'] = {}) {
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

function updateConfiguration({ world, ids, parameters }: Call): Thing {
  const configuration = world.get('billing_portal.configuration', ids[0]!);
  const { features, metadata, ...rest } = parameters;
  if (features !== undefined) configuration.features = featuresOf({ ...configuration.features, ...features });
  configuration.metadata = mergedMetadata(configuration.metadata, metadata);
  return Object.assign(configuration, given(rest, portalFields), { updated: world.now });
}

function createPortalSession({ world, parameters }: Call): Thing {
  const customer = customerOf(world, parameters.customer ?? '');
  const configurations = world.all('billing_portal.configuration');
  const wanted = parameters.configuration;
  const configuration =
    wanted === undefined
      ? configurations.find((one) => one.is_default)
      : world.get('billing_portal.configuration', wanted);
  if (configuration === undefined)
    throw new Refusal(
      'No configuration provided and your test mode default configuration has not been created. Provide a configuration or create your default by saving your customer portal settings in test mode.',
    );
  const id = world.id('bps');
  return world.add({
    id,
    object: 'billing_portal.session',
    configuration: configuration.id,
    customer: customer.id,
    flow: null,
    locale: parameters.locale ?? null,
    on_behalf_of: null,
    return_url: parameters.return_url ?? configuration.default_return_url,
    url: `${world.url}/portal/${id}`,
  });
}

function createEndpoint({ world, parameters }: Call): Thing {
  return world.add({
    id: world.id('we'),
    object: 'webhook_endpoint',
    api_version: parameters.api_version ?? null,
    application: null,
    description: parameters.description ?? null,
    enabled_events: parameters.enabled_events,
    metadata: mergedMetadata({}, parameters.metadata),
    secret: world.id('whsec'),
    status: 'enabled',
    url: parameters.url,
  });
}

/** The secret is told only once. */
function withoutSecret(endpoint: Thing): Thing {
  return { ...endpoint, secret: undefined };
}

function updateEndpoint({ world, ids, parameters }: Call): Thing {
  const endpoint = world.get('webhook_endpoint', ids[0]!);
  endpoint.metadata = mergedMetadata(endpoint.metadata, parameters.metadata);
  Object.assign(endpoint, given(parameters, ['url', 'enabled_events', 'description']));
  if (parameters.disabled !== undefined) endpoint.status = parameters.disabled ? 'disabled' : 'enabled';
  return withoutSecret(endpoint);
}

/** What happened, as it is listed and sent. */
export function eventOf(happening: Happening, object: unknown): Thing {
  return {
    id: happening.id,
    object: 'event',
    api_version: apiVersion,
    created: happening.created,
    data: { object, ...(happening.previous === null ? {} : { previous_attributes: happening.previous }) },
    livemode: false,
    pending_webhooks: 0,
    request: { id: null, idempotency_key: null },
    type: happening.type,
  };
}

function listEvents(call: Call, show: (happening: Happening) => Thing) {
  const { type, types } = call.parameters;
  const found = call.world.happenings
    .filter(
      (one) =>
        type === undefined ||
        one.type === type ||
        (type.endsWith('.*') && one.type.startsWith(type.slice(0, -1))),
    )
    .filter((one) => types === undefined || types.includes(one.type));
  return pageOf(call, found.map(show), '/v1/events');
}

/** `show` makes an event of what happened; `moveTo` lets time pass. */
export function account(
  show: (happening: Happening) => Thing,
  moveTo: (world: World, seconds: number) => void,
): Handlers {
  return {
    'BillingPortal/Configurations.create': createConfiguration,
    'BillingPortal/Configurations.update': updateConfiguration,
    'BillingPortal/Configurations.retrieve': ({ world, ids }) =>
      world.get('billing_portal.configuration', ids[0]!),
    'BillingPortal/Configurations.list': (call) => {
      const { active, is_default: isDefault } = call.parameters;
      const found = call.world
        .all('billing_portal.configuration')
        .filter((one) => active === undefined || one.active === active)
        .filter((one) => isDefault === undefined || one.is_default === isDefault);
      return pageOf(call, found, '/v1/billing_portal/configurations');
    },
    'BillingPortal/Sessions.create': createPortalSession,
    'WebhookEndpoints.create': createEndpoint,
    'WebhookEndpoints.update': updateEndpoint,
    'WebhookEndpoints.retrieve': ({ world, ids }) => withoutSecret(world.get('webhook_endpoint', ids[0]!)),
    'WebhookEndpoints.list': (call) =>
      pageOf(call, call.world.all('webhook_endpoint').map(withoutSecret), '/v1/webhook_endpoints'),
    'WebhookEndpoints.del': ({ world, ids }) => {
      const { id } = world.get('webhook_endpoint', ids[0]!);
      world.remove(id);
      return { id, object: 'webhook_endpoint', deleted: true };
    },
    'Events.list': (call) => listEvents(call, show),
    'Events.retrieve': ({ world, ids }) => {
      const found = world.happenings.find(({ id }) => id === ids[0]);
      if (found === undefined)
        throw new Refusal(`No such event: '${ids[0]}'`, { status: 404, code: 'resource_missing' });
      return show(found);
    },
    'TestHelpers/TestClocks.create': ({ world, parameters }) =>
      world.add({
        id: world.id('clock'),
        object: 'test_helpers.test_clock',
        deletes_after: world.now + 30 * 86_400,
        frozen_time: parameters.frozen_time,
        name: parameters.name ?? null,
        status: 'ready',
        status_details: {},
      }),
    'TestHelpers/TestClocks.retrieve': ({ world, ids }) => world.get('test_helpers.test_clock', ids[0]!),
    // There is one time for everybody here: a clock that is moved moves it.
    'TestHelpers/TestClocks.advance': ({ world, ids, parameters }) => {
      const clock = world.get('test_helpers.test_clock', ids[0]!);
      moveTo(world, parameters.frozen_time);
      return Object.assign(clock, { frozen_time: parameters.frozen_time });
    },
  };
}
