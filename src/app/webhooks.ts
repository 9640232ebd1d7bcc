import type { OrganizationDirectory } from '../accounts/organization-directory.ts';
import { createOrganizationSemaphore } from '../admission/organization-semaphore.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { Settings } from '../config/schema.ts';
import { sleepUntilAbort } from '../core/async/sleep-until-abort.ts';
import type { Logger } from '../core/logger.ts';
import type { Metrics } from '../core/metrics.ts';
import { Sealer } from '../core/sealer.ts';
import { version } from '../core/version.ts';
import { webhookLimits } from '../core/webhook-limits.ts';
import { PinnedConnections } from '../egress/pinned-connections.ts';
import { ChangeSignal } from '../services/change-signal.ts';
import type { DataDirectory } from '../storage/data-directory.ts';
import { deriveSecrets } from '../storage/installation-secrets.ts';
import { Webhooks } from '../storage/webhooks.ts';
import { DeliverySender } from '../webhooks/delivery-sender.ts';
import { WebhookDispatcher } from '../webhooks/webhook-dispatcher.ts';
import { createAttemptCounter, registerWebhookMetrics } from '../webhooks/webhook-metrics.ts';
import { WebhookServices } from '../webhooks/webhook-services.ts';
import type { ResourceStack } from './resource-stack.ts';
import { clock, random } from './runtime.ts';
import type { Storage } from './storage.ts';

interface WebhookDependencies {
  readonly data: Pick<DataDirectory, 'secrets'>;
  readonly storage: Storage;
  readonly organizations: OrganizationDirectory;
  readonly audit: AuditLog;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Constructs the components of webhooks; deliveries begin with `dispatcher.start`. */
export function openWebhooks(
  settings: Settings,
  resources: ResourceStack,
  { data, storage, organizations, audit, logger, metrics }: WebhookDependencies,
) {
  const { store, feeds, collections } = storage;
  const webhooks = new Webhooks(store);
  const sealer = new Sealer(deriveSecrets(data.secrets, 'webhooks'), random);
  const connections = new PinnedConnections({
    mode: settings.egress,
    hosts: settings.webhookHosts?.split(',') ?? [],
    privateHosts: settings.webhookPrivateHosts?.split(',') ?? [],
    settingNames: { hosts: 'QUARRY_WEBHOOK_HOSTS', privateHosts: 'QUARRY_WEBHOOK_PRIVATE_HOSTS' },
    perHostMax: webhookLimits.runningMax,
  });
  resources.add(() => connections.close());
  const semaphore = createOrganizationSemaphore({
    permits: webhookLimits.runningMax,
    waitingMax: webhookLimits.waitingMax,
    noun: 'webhook messages',
  });
  const sender = new DeliverySender({ connections, sealer, clock, semaphore, version });
  const signal = new ChangeSignal(feeds);
  const parts = { store, webhooks, feeds, sender, clock, random };
  const dispatcher = new WebhookDispatcher({
    ...parts,
    signal,
    collections,
    sleep: sleepUntilAbort,
    hasOrganization: (id) => organizations.find(id) !== undefined,
    logger,
    count: createAttemptCounter(metrics),
  });
  registerWebhookMetrics(metrics, { webhooks, dispatcher });
  resources.add(() => dispatcher.close());
  const services = new WebhookServices({ ...parts, dispatcher, connections, sealer, audit });
  return { dispatcher, services };
}
