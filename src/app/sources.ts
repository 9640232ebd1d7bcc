import { resolve } from 'node:path';
import type { OrganizationDirectory } from '../accounts/organization-directory.ts';
import type { Quotas } from '../admission/quotas.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { Settings } from '../config/schema.ts';
import { KeyedMutex } from '../core/async/mutex.ts';
import type { Logger } from '../core/logger.ts';
import { Sealer } from '../core/sealer.ts';
import type { DirectorySettings } from '../schemas/sources.ts';
import { SourceServices } from '../services/sources.ts';
import { DirectorySource } from '../sources/directory/directory-source.ts';
import { DocumentTarget } from '../sources/document-target.ts';
import { SourceKinds, type SourceOpener } from '../sources/source-kinds.ts';
import { SourceScheduler } from '../sources/source-scheduler.ts';
import { Synchronizer } from '../sources/synchronizer.ts';
import type { DataDirectory } from '../storage/data-directory.ts';
import { deriveSecrets } from '../storage/installation-secrets.ts';
import { Sources } from '../storage/sources.ts';
import type { Pipeline } from './pipeline.ts';
import type { ResourceStack } from './resource-stack.ts';
import { clock, random } from './runtime.ts';
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
}

export interface SourceComponents {
  readonly services: SourceServices;
  readonly scheduler: SourceScheduler;
}

export function openSources(
  settings: Settings,
  resources: ResourceStack,
  { data, storage, pipeline, quotas, organizations, audit, logger }: SourceDependencies,
): SourceComponents {
  const { store, collections, documents, blobs } = storage;
  const metadataBytesMax = (organizationId: string) =>
    organizations.limitsOf(organizationId).metadataBytesMax;
  const sources = new Sources(store);
  const kinds = createKinds(settings, data);
  const target = new DocumentTarget({
    documents,
    blobs,
    writer: pipeline.writer,
    admission: pipeline.admission,
    quotas,
    fileBytesMax: settings.uploadBytesMax,
    metadataBytesMax,
  });
  const synchronizer = new Synchronizer({ store, sources, collections, target, clock });
  const scheduler = new SourceScheduler({ store, sources, kinds, synchronizer, clock, logger });
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

function createKinds(settings: Settings, { secrets, path: dataFolder }: DataDirectory): SourceKinds {
  const folders = parseFolders(settings.sourceFolders);
  const directory: SourceOpener = {
    credentialNames: [],
    canWatch: true,
    open({ organizationId, settings: record }) {
      const { path, include_hidden, url_prefix } = record as DirectorySettings;
      return DirectorySource.open({
        path: resolve(path),
        includesHidden: include_hidden ?? false,
        urlPrefix: url_prefix ?? null,
        allowedFolders: folders
          .filter((folder) => folder.organizationId === null || folder.organizationId === organizationId)
          .map((folder) => folder.path),
        dataFolder: resolve(dataFolder),
        clock,
      });
    },
  };
  return new SourceKinds({ directory }, new Sealer(deriveSecrets(secrets, 'sources'), random));
}

interface AllowedFolder {
  /** Null: for all organizations. */
  readonly organizationId: string | null;
  readonly path: string;
}

/** Parses the setting `sourceFolders`. */
function parseFolders(list: string | null): AllowedFolder[] {
  return (list?.split(',') ?? []).map((entry) => {
    const [, organizationId = null, path = ''] = /^(?:([0-9a-f-]{36})=)?(.*)$/.exec(entry) ?? [];
    return { organizationId, path: resolve(path) };
  });
}
