import type { ApiKeyRegistry } from '../accounts/api-key-registry.ts';
import type { OrganizationDirectory } from '../accounts/organization-directory.ts';
import type { OrganizationRemoval } from '../accounts/organization-removal.ts';
import { administratorId, type SecondFactors } from '../accounts/second-factors.ts';
import type { UserDirectory } from '../accounts/user-directory.ts';
import type { ModelAdmission } from '../admission/model-admission.ts';
import { createOrganizationSemaphore } from '../admission/organization-semaphore.ts';
import type { Quotas } from '../admission/quotas.ts';
import { WaitLimiter } from '../admission/wait-limiter.ts';
import type { Actor, AuditLog } from '../audit/audit-log.ts';
import type { EffectiveTiers } from '../billing/effective-tiers.ts';
import type { Settings } from '../config/schema.ts';
import type { FairSemaphore } from '../core/async/fair-semaphore.ts';
import { limits } from '../core/limits.ts';
import type { Metrics } from '../core/metrics.ts';
import type { Services } from '../http/services.ts';
import type { DerivedFiles } from '../ingest/derived-files.ts';
import { FileReader } from '../ingest/file-reader.ts';
import type { PageImages } from '../ingest/page-images.ts';
import { defaultEmbeddingModel } from '../models/registry.ts';
import type { Vocabularies } from '../search/vocabularies.ts';
import { AdminService } from '../services/admin.ts';
import { CohereServices } from '../services/cohere.ts';
import { CollectionCloneServices } from '../services/collection-clones.ts';
import { CollectionNameServices } from '../services/collection-names.ts';
import { CollectionServices } from '../services/collections.ts';
import { DocumentChangeServices } from '../services/document-changes.ts';
import { DocumentExportServices } from '../services/document-exports.ts';
import { DocumentUploadServices } from '../services/document-uploads.ts';
import { DocumentUrls } from '../services/document-urls.ts';
import { DocumentServices } from '../services/documents.ts';
import { FileServices } from '../services/files.ts';
import { Inspection } from '../services/inspection.ts';
import { OpenAiServices } from '../services/openai.ts';
import { ParserServices } from '../services/parsers.ts';
import { QueryServices } from '../services/queries.ts';
import type { SlowQueryLog } from '../services/slow-query-log.ts';
import type { SourceServices } from '../services/sources.ts';
import { StatusServices } from '../services/status.ts';
import { SuggestionServices } from '../services/suggestions.ts';
import { UsageService } from '../services/usage.ts';
import { UserService } from '../services/users.ts';
import type { DataDirectory } from '../storage/data-directory.ts';
import { UsageLedger } from '../usage/ledger.ts';
import { parseOutsideCollections } from '../usage/usage-events.ts';
import type { WebhookServices } from '../webhooks/webhook-services.ts';
import { createAnswerServices } from './answers.ts';
import { type Backups, createBackupService } from './backups.ts';
import { createChangeServices } from './changes.ts';
import { createMoments, createPastSearch } from './history.ts';
import { createInstallationService, type Installation } from './installation.ts';
import { createModelService } from './model-service.ts';
import { buildSearch, describeModelOutage, type Pipeline } from './pipeline.ts';
import { createQuerySemaphores } from './query-semaphores.ts';
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
  readonly metrics: Metrics;
  readonly organizations: OrganizationDirectory;
  readonly tiers: EffectiveTiers;
  readonly keys: ApiKeyRegistry;
  readonly audit: AuditLog;
  readonly directory: UserDirectory;
  readonly secondFactors: SecondFactors;
  readonly publicUrl: () => string;
  readonly collections: CollectionServices;
  readonly deleteOrganization: OrganizationRemoval['deleteOrganization'];
  readonly modelAdmission: ModelAdmission;
  readonly quotas: Quotas;
  readonly backups: Backups;
  readonly images: PageImages;
  readonly derivedFiles: DerivedFiles;
  readonly slowQueries: SlowQueryLog | null;
  readonly vocabularies: Vocabularies;
  readonly installation: Installation;
  readonly sources: SourceServices;
  readonly webhooks: WebhookServices;
}

export function createCollectionServices({
  storage,
  pipeline,
  audit,
  vocabularies,
}: Pick<ServiceDependencies, 'storage' | 'pipeline' | 'audit' | 'vocabularies'>): CollectionServices {
  const { store, collections, nameLocks, indexes, feeds, history } = storage;
  const { catalog, ingest, modelChanges } = pipeline;
  return new CollectionServices({
    store,
    collections,
    nameLocks,
    audit,
    feeds,
    history,
    clock,
    random,
    model: catalog.defaultEmbedding,
    defaultModel: defaultEmbeddingModel,
    findModel: (name) => catalog.getEmbedding(name),
    lifecycle: {
      onModelChanged: ({ collectionId }) => modelChanges.refresh(collectionId),
      open: (collection) => indexes.open(collection),
      remove: (collection) => {
        const { collectionId } = collection;
        vocabularies.delete(collection);
        ingest.abandonCollection(collectionId);
        modelChanges.refresh(collectionId);
        return indexes.remove(collectionId);
      },
    },
  });
}

interface DataRemovalDependencies {
  readonly sources: Pick<SourceServices, 'deleteAllOfOrganization'>;
  readonly webhooks: Pick<WebhookServices, 'deleteAllOfOrganization'>;
  readonly collections: CollectionServices;
  readonly storage: Pick<Storage, 'store' | 'collections' | 'feeds'>;
  /** Removes the data of deleted collections whose removal is due. */
  readonly sweep: () => Promise<void>;
  /** Deletes the persisted state of the limits of an organization. */
  readonly deleteLimits: (organizationId: string) => Promise<void>;
}

/**
 * Returns a function that deletes the documents, usage and limits of an organization. It resolves with false
 * while some of the data still exists.
 */
export function createDataRemoval({
  sources,
  webhooks,
  collections,
  storage,
  sweep,
  deleteLimits,
}: DataRemovalDependencies) {
  const ledger = new UsageLedger({ store: storage.store, clock });
  return async (organizationId: string): Promise<boolean> => {
    await webhooks.deleteAllOfOrganization(organizationId);
    await sources.deleteAllOfOrganization(organizationId);
    await collections.deleteAllOfOrganization(organizationId);
    await sweep();
    const tombstones = await storage.collections.listTombstones();
    if (tombstones.some((tombstone) => tombstone.organizationId === organizationId)) return false;
    await storage.feeds.delete(organizationId);
    await ledger.deleteAll(organizationId);
    await deleteLimits(organizationId);
    return true;
  };
}

export function buildServices(dependencies: ServiceDependencies): Services {
  const { settings, data, storage, pipeline, modelAdmission, images } = dependencies;
  const { store, collections, documents, versions, contents, blobs, meter } = storage;
  const documentUrls = new DocumentUrls(data.secrets[0]!);
  const findWaitReason = (collectionId: string) =>
    pipeline.memory.shortage ?? describeModelOutage(storage, pipeline.catalog, collectionId);
  const ledger = new UsageLedger({ store, clock });
  const queries = createQueryServices(dependencies, documentUrls);
  const models = createModelService({ settings, pipeline, modelAdmission, meter, collections });
  return {
    collections: dependencies.collections,
    clones: new CollectionCloneServices({
      collections,
      documents,
      clock,
      copier: pipeline.copier,
      collectionServices: dependencies.collections,
      admission: pipeline.admission,
      quotas: dependencies.quotas,
    }),
    names: new CollectionNameServices({
      store,
      collections,
      clock,
      nameLocks: storage.nameLocks,
      feeds: storage.feeds,
      audit: dependencies.audit,
    }),
    documents: createDocumentServices(dependencies, documentUrls, findWaitReason),
    uploads: createUploadServices(dependencies),
    changes: createDocumentChangeServices(dependencies),
    webhooks: dependencies.webhooks,
    changeFeed: createChangeServices(data, storage),
    exports: new DocumentExportServices({ collections, documents, versions, contents, documentUrls }),
    queries,
    answers: createAnswerServices({ settings, pipeline, queries, metrics: dependencies.metrics }),
    suggestions: new SuggestionServices({ collections, vocabularies: dependencies.vocabularies, clock }),
    files: new FileServices({
      collections,
      documents,
      versions,
      contents,
      blobs,
      images,
      secrets: data.secrets,
    }),
    status: createStatusServices(dependencies, findWaitReason),
    parsers: createParserServices(dependencies),
    models,
    openAi: new OpenAiServices({ models, queries }),
    cohere: new CohereServices(models),
    admin: createAdminService(dependencies),
    users: createUserService(dependencies),
    backups: createBackupService(dependencies.backups, data),
    inspection: createInspection(dependencies),
    installation: createInstallationService(dependencies.installation, dependencies),
    sources: dependencies.sources,
    usage: new UsageService({ meter, ledger, collections }),
  };
}

function createDocumentServices(
  { storage, pipeline, audit, organizations }: ServiceDependencies,
  documentUrls: DocumentUrls,
  findWaitReason: (collectionId: string) => string | null,
): DocumentServices {
  return new DocumentServices({
    collections: storage.collections,
    documents: storage.documents,
    versions: storage.versions,
    contents: storage.contents,
    writer: pipeline.writer,
    audit,
    ingest: pipeline.ingest,
    documentUrls,
    admission: pipeline.admission,
    metadataBytesMax: (organizationId) => organizations.limitsOf(organizationId).metadataBytesMax,
    findWaitReason,
  });
}

function createDocumentChangeServices({
  storage,
  pipeline,
  audit,
  organizations,
}: ServiceDependencies): DocumentChangeServices {
  return new DocumentChangeServices({
    collections: storage.collections,
    documents: storage.documents,
    writer: pipeline.writer,
    audit,
    admission: pipeline.admission,
    metadataBytesMax: (organizationId) => organizations.limitsOf(organizationId).metadataBytesMax,
  });
}

function createUploadServices({
  settings,
  storage,
  pipeline,
  organizations,
  quotas,
}: ServiceDependencies): DocumentUploadServices {
  return new DocumentUploadServices({
    collections: storage.collections,
    documents: storage.documents,
    blobs: storage.blobs,
    writer: pipeline.writer,
    ingest: pipeline.ingest,
    admission: pipeline.admission,
    quotas,
    waitLimiter: new WaitLimiter(limits.waitsRunningMax),
    fileBytesMax: settings.uploadBytesMax,
    metadataBytesMax: (organizationId) => organizations.limitsOf(organizationId).metadataBytesMax,
    clock,
    backgroundScheduler,
  });
}

function createAdminService(dependencies: ServiceDependencies): AdminService {
  const { organizations, tiers, keys, audit, quotas, pipeline, deleteOrganization } = dependencies;
  const storageOf = createStorageUsageReader(quotas, pipeline);
  return new AdminService({ organizations, tiers, keys, audit, deleteOrganization, storageOf });
}

function createStatusServices(
  { storage: { collections, documents, counts, history, indexes }, pipeline }: ServiceDependencies,
  findWaitReason: (collectionId: string) => string | null,
): StatusServices {
  return new StatusServices({
    collections,
    documents,
    counts,
    history,
    clock,
    findWaitReason,
    modelDefault: defaultEmbeddingModel,
    parsingDocumentsIn: (collectionId) => pipeline.ingest.listParsing(collectionId),
    modelChangeOf: (collection) => pipeline.modelChanges.getProgress(collection),
    describeIndex: (collectionId) => indexes.describe(collectionId),
  });
}

function createUserService({ directory, secondFactors, publicUrl }: ServiceDependencies): UserService {
  const administrator = {
    status: () => secondFactors.status(administratorId),
    begin: () => secondFactors.begin(administratorId, 'administrator'),
    confirm: (code: string, by: Actor) => secondFactors.confirm(administratorId, code, by),
    disable: (code: string, by: Actor) => secondFactors.disable(administratorId, code, by),
  };
  return new UserService(directory, administrator, publicUrl);
}

function createQueryServices(
  { settings, data, storage, pipeline, slowQueries, quotas }: ServiceDependencies,
  documentUrls: DocumentUrls,
): QueryServices {
  return new QueryServices({
    collections: storage.collections,
    documents: storage.documents,
    reader: storage.reader,
    counts: storage.counts,
    meter: storage.meter,
    search: buildSearch(settings, storage, pipeline),
    past: createPastSearch(data, storage),
    moments: createMoments(data),
    replyParts: storage.replyParts,
    documentUrls,
    clock,
    semaphoreOf: createQuerySemaphores(settings, pipeline),
    models: pipeline.catalog,
    rerankerDefault: settings.reranker,
    defaultEmbeddingModel,
    chargeQueries: (organizationId, count) => quotas.chargeQueries(organizationId, count),
    slowQueries,
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

/** As many permits as ingestion has parse threads, so that each of the two gets half of the parsers. */
function createParserSemaphore({ parseThreads: permits }: Settings): FairSemaphore {
  return createOrganizationSemaphore({ permits, waitingMax: limits.filesWaitingMax, noun: 'files' });
}
