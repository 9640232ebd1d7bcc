import type { OrganizationDirectory } from '../accounts/organization-directory.ts';
import type { Quotas } from '../admission/quotas.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { Settings } from '../config/schema.ts';
import { KeyedMutex } from '../core/async/mutex.ts';
import type { Logger } from '../core/logger.ts';
import type { Metrics } from '../core/metrics.ts';
import { SourceServices } from '../services/sources.ts';
import { DocumentTarget } from '../sources/document-target.ts';
import { createRunCounter, registerSourceMetrics } from '../sources/source-metrics.ts';
import { SourceScheduler } from '../sources/source-scheduler.ts';
import { Synchronizer } from '../sources/synchronizer.ts';
import type { DataDirectory } from '../storage/data-directory.ts';
import { Sources } from '../storage/sources.ts';
import type { Pipeline } from './pipeline.ts';
import type { ResourceStack } from './resource-stack.ts';
import { clock, random } from './runtime.ts';
import { createSourceKinds } from './source-kinds.ts';
import type { Storage } from './storage.ts';

/** Sources that collections follow. */

interface SourceDependencies {
  readonly data: DataDirectory;
  readonly storage: Storage;
  readonly pipeline: Pipeline;
  readonly quotas: Quotas;
  readonly organizations: OrganizationDirectory;
  readonly audit: AuditLog;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export interface SourceComponents {
  readonly services: SourceServices;
  readonly scheduler: SourceScheduler;
}

export function openSources(
  settings: Settings,
  resources: ResourceStack,
  { data, storage, pipeline, quotas, organizations, audit, logger, metrics }: SourceDependencies,
): SourceComponents {
  const { store, collections, documents, blobs } = storage;
  const metadataBytesMax = (organizationId: string) =>
    organizations.limitsOf(organizationId).metadataBytesMax;
  const sources = new Sources(store);
  const kinds = createSourceKinds(settings, resources, data);
  const target = new DocumentTarget({
    documents,
    blobs,
    writer: pipeline.writer,
    admission: pipeline.admission,
    quotas,
    fileBytesMax: settings.uploadBytesMax,
    metadataBytesMax,
  });
  const mayLogContent = () => organizations.mayLogContent;
  const synchronizer = new Synchronizer({
    store,
    sources,
    collections,
    target,
    clock,
    logger,
    mayLogContent,
  });
  const scheduler = new SourceScheduler({
    store,
    sources,
    kinds,
    synchronizer,
    clock,
    logger,
    mayLogContent,
    onRunEnd: createRunCounter(metrics),
  });
  registerSourceMetrics(metrics, scheduler);
  resources.add(() => scheduler.close());
  const services = new SourceServices({
    store,
    sources,
    collections,
    kinds,
    scheduler,
    audit,
    metadataBytesMax,
    clock,
    random,
    locks: new KeyedMutex(),
  });
  return { services, scheduler };
}
