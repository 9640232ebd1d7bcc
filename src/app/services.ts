import type { ApiKeyRegistry } from '../accounts/api-key-registry.ts';
import type { OrganizationDirectory } from '../accounts/organization-directory.ts';
import type { OrganizationRemoval } from '../accounts/organization-removal.ts';
import { administratorId, type SecondFactors } from '../accounts/second-factors.ts';
import type { UserDirectory } from '../accounts/user-directory.ts';
import type { ModelAdmission } from '../admission/model-admission.ts';
import { createOrganizationSemaphore } from '../admission/organization-semaphore.ts';
import { OverloadDetector } from '../admission/overload-detector.ts';
import type { Quotas } from '../admission/quotas.ts';
import { WaitLimiter } from '../admission/wait-limiter.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { EffectiveTiers } from '../billing/effective-tiers.ts';
import type { Settings } from '../config/schema.ts';
import type { FairSemaphore } from '../core/async/fair-semaphore.ts';
import { limits } from '../core/limits.ts';
import type { Services } from '../http/services.ts';
import type { DerivedFiles } from '../ingest/derived-files.ts';
import { FileReader } from '../ingest/file-reader.ts';
import type { PageImages } from '../ingest/page-images.ts';
import { toDimensions } from '../models/dimensions.ts';
import { defaultEmbeddingModel } from '../models/registry.ts';
import { AdminService } from '../services/admin.ts';
import { CollectionServices } from '../services/collections.ts';
import { DocumentUploadServices } from '../services/document-uploads.ts';
import { DocumentUrls } from '../services/document-urls.ts';
import { DocumentServices } from '../services/documents.ts';
import { FileServices } from '../services/files.ts';
import { Inspection } from '../services/inspection.ts';
import { ModelService } from '../services/models.ts';
import { ParserServices } from '../services/parsers.ts';
import { QueryServices } from '../services/queries.ts';
import { StatusServices } from '../services/status.ts';
import { UsageService } from '../services/usage.ts';
import { UserService } from '../services/users.ts';
import type { DataDirectory } from '../storage/data-directory.ts';
import { UsageLedger } from '../usage/ledger.ts';
import { parseOutsideCollections } from '../usage/usage-events.ts';
import { buildSearch, describeModelOutage, type Pipeline } from './pipeline.ts';
import { createStorageUsageReader } from './quotas.ts';
import { backgroundScheduler, clock, random } from './runtime.ts';
import type { Pools, Storage } from './storage.ts';

/** Constructs the services with their dependencies. */

interface ServiceDependencies {
  readonly settings: Settings;
  readonly data: DataDirectory;
  readonly storage: Storage;
  readonly pools: Pools;
  readonly pipeline: Pipeline;
  readonly organizations: OrganizationDirectory;
  readonly tiers: EffectiveTiers;
  readonly keys: ApiKeyRegistry;
  readonly audit: AuditLog;
  readonly directory: UserDirectory;
  readonly secondFactors: SecondFactors;
  readonly deleteOrganization: OrganizationRemoval['deleteOrganization'];
  /** Removes the data of deleted collections whose removal is due. */
  readonly sweep: () => Promise<void>;
  readonly modelAdmission: ModelAdmission;
  readonly quotas: Quotas;
  /** Deletes the persisted state of the limits of an organization. */
  readonly deleteLimits: (organizationId: string) => Promise<void>;
  readonly images: PageImages;
  readonly derivedFiles: DerivedFiles;
}

/** Services of retrieval, and the function that deletes all documents of an organization. */
interface RetrievalServices {
  readonly services: Services;
  readonly removeData: (organizationId: string) => Promise<boolean>;
}

export function buildServices(dependencies: ServiceDependencies): RetrievalServices {
  const { settings, data, storage, pipeline, organizations, audit, modelAdmission, quotas, images } =
    dependencies;
  const { meter, indexes } = storage;
  const { catalog } = pipeline;
  const documentUrls = new DocumentUrls(data.secrets[0]!);
  const findWaitReason = (collectionId: string) =>
    pipeline.memory.shortage ?? describeModelOutage(storage, catalog, collectionId);
  const collections = new CollectionServices({
    ...storage,
    ...{ audit, clock, random },
    model: catalog.defaultEmbedding,
    findModel: (name) => catalog.getEmbedding(name),
    lifecycle: {
      onModelChanged: ({ collectionId }) => pipeline.modelChanges.refresh(collectionId),
      open: (collection) => indexes.open(collection),
      remove: ({ collectionId }) => {
        pipeline.ingest.abandonCollection(collectionId);
        pipeline.modelChanges.refresh(collectionId);
        return indexes.remove(collectionId);
      },
    },
  });
  const documents = new DocumentServices({
    ...storage,
    ...pipeline,
    documentUrls,
    audit,
    findWaitReason,
  });
  const uploads = new DocumentUploadServices({
    ...storage,
    ...pipeline,
    clock,
    backgroundScheduler,
    quotas,
    waitLimiter: new WaitLimiter(limits.waitsRunningMax),
    fileBytesMax: settings.uploadBytesMax,
    metadataBytesMax: (organizationId) => organizations.limitsOf(organizationId).metadataBytesMax,
  });
  const queries = createQueryServices(dependencies, documentUrls);
  const files = new FileServices({ ...storage, images, secrets: data.secrets });
  const status = new StatusServices({
    ...storage,
    clock,
    findWaitReason,
    modelDefault: defaultEmbeddingModel,
    parsingDocumentsIn: (collectionId) => pipeline.ingest.listParsing(collectionId),
    modelChangeOf: (collection) => pipeline.modelChanges.getProgress(collection),
  });
  const ledger = new UsageLedger({ store: storage.store, clock });
  const usage = new UsageService({ meter, ledger, collections: storage.collections });
  const components = {
    ...{ collections, documents, uploads, queries, files, status, usage },
    parsers: createParserServices(dependencies),
    models: createModelService({ settings: dependencies.settings, pipeline, modelAdmission, meter }),
    inspection: createInspection(dependencies),
    ...createAdminServices(dependencies),
  };
  return {
    services: components,
    removeData: async (organizationId) => {
      await collections.deleteAllOfOrganization(organizationId);
      await dependencies.sweep();
      const tombstones = await storage.collections.listTombstones();
      if (tombstones.some((tombstone) => tombstone.organizationId === organizationId)) return false;
      await ledger.deleteAll(organizationId);
      await dependencies.deleteLimits(organizationId);
      return true;
    },
  };
}

function createAdminServices(dependencies: ServiceDependencies): Pick<Services, 'admin' | 'users'> {
  const { organizations, tiers, keys, audit, quotas, pipeline, secondFactors } = dependencies;
  return {
    admin: new AdminService({
      ...{ organizations, tiers, keys, audit, deleteOrganization: dependencies.deleteOrganization },
      storageOf: createStorageUsageReader(quotas, pipeline),
    }),
    users: new UserService(dependencies.directory, {
      status: () => secondFactors.status(administratorId),
      begin: () => secondFactors.begin(administratorId, 'administrator'),
      confirm: (code, by) => secondFactors.confirm(administratorId, code, by),
      disable: (code, by) => secondFactors.disable(administratorId, code, by),
    }),
  };
}

function createQueryServices(
  { settings, storage, pipeline }: ServiceDependencies,
  documentUrls: DocumentUrls,
): QueryServices {
  return new QueryServices({
    ...storage,
    search: buildSearch(settings, storage, pipeline),
    documentUrls,
    clock,
    semaphoreOf: createQuerySemaphores(settings, pipeline),
    rerankModels: () => pipeline.catalog.rerankerNames,
    rerankerDefault: settings.reranker,
    defaultEmbeddingModel,
  });
}

function createParserServices({
  settings,
  storage,
  pools,
  pipeline,
  quotas,
}: ServiceDependencies): ParserServices {
  const { blobsFolder: folder } = storage;
  const { parseLimits } = pipeline;
  const reader = new FileReader({ pool: pools.parse, folder, parseLimits, random });
  const semaphore = createParserSemaphore(settings);
  return new ParserServices({
    reader,
    semaphore,
    spendBytes: (organizationId, bytes) => quotas.consumeDocumentBytes(organizationId, bytes),
    recordParse: (parse) => storage.meter.recordDocument(parseOutsideCollections(parse)),
    fileBytesMax: settings.uploadBytesMax,
    clock,
  });
}

function createInspection({
  data,
  storage,
  derivedFiles,
  audit,
}: Pick<ServiceDependencies, 'data' | 'storage' | 'derivedFiles' | 'audit'>) {
  const { store, blobs } = storage;
  return new Inspection({
    store,
    blobs,
    audit,
    indexFolder: data.indexPath,
    derivedFilesFolder: derivedFiles.folder,
  });
}

function createQuerySemaphores(
  { queriesRunningMax, rerankedQueriesRunningMax }: Settings,
  { catalog }: Pipeline,
): (reranker: string | null) => FairSemaphore {
  const createSemaphore = (permits: number) =>
    createOrganizationSemaphore({
      ...{ permits, waitingMax: limits.queriesWaitingMax, noun: 'queries' },
      overload: new OverloadDetector(clock),
    });
  const plain = createSemaphore(queriesRunningMax);
  const reranked = createSemaphore(rerankedQueriesRunningMax);
  const serviceReranked = createSemaphore(
    Math.max(limits.serviceRerankedQueriesMax, rerankedQueriesRunningMax),
  );
  return (reranker) => {
    if (reranker === null) return plain;
    const { backend: runs } = catalog.getReranker(reranker);
    return runs !== 'built-in' && 'provider' in runs ? serviceReranked : reranked;
  };
}

/** As many permits as parse threads of ingestion: each of both gets half of the parsers. */
function createParserSemaphore({ parseThreads: permits }: Settings): FairSemaphore {
  return createOrganizationSemaphore({ permits, waitingMax: limits.filesWaitingMax, noun: 'files' });
}

function createModelService({
  settings,
  pipeline,
  modelAdmission,
  meter,
}: Pick<ServiceDependencies, 'settings' | 'pipeline' | 'modelAdmission'> &
  Pick<Storage, 'meter'>): ModelService {
  const { catalog } = pipeline;
  return new ModelService({
    executor: pipeline.models,
    admission: modelAdmission,
    meter,
    clock,
    modelLookup: {
      list: () => ({
        embedding_models: [...catalog.embeddingNames],
        rerankers: [...catalog.rerankerNames],
        default_embedding_model: catalog.defaultEmbedding.id,
        default_reranker: settings.reranker,
      }),
      resolveDimensions: (id, requested) => catalog.resolveDimensions(id, requested),
      checkReranker: (id) => {
        catalog.getReranker(id);
      },
      toDimensions,
    },
  });
}
