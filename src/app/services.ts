import type { KeyRing } from '../accounts/key-ring.ts';
import type { OrganisationDirectory } from '../accounts/organisation-directory.ts';
import type { OrganisationRemoval } from '../accounts/organisation-removal.ts';
import { administratorId, type SecondFactors } from '../accounts/second-factors.ts';
import type { UserDirectory } from '../accounts/user-directory.ts';
import type { ModelAdmission } from '../admission/model-admission.ts';
import { organizationSemaphore } from '../admission/organization-semaphore.ts';
import { OverloadDetector } from '../admission/overload-detector.ts';
import type { Quotas } from '../admission/quotas.ts';
import { WaitLimiter } from '../admission/wait-limiter.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import { limits } from '../base/limits.ts';
import type { EffectiveTiers } from '../billing/effective-tier.ts';
import type { Settings } from '../config/schema.ts';
import type { FairSemaphore } from '../core/async/fair-semaphore.ts';
import type { Services } from '../http/services.ts';
import { toDimensions } from '../models/dimensions.ts';
import { defaultEmbeddingModel } from '../models/registry.ts';
import type { DerivedFiles } from '../pipeline/derived-files.ts';
import { FileReader } from '../pipeline/file-reader.ts';
import type { PageImages } from '../pipeline/page-images.ts';
import { Addresses } from '../services/addresses.ts';
import { AdminService } from '../services/admin.ts';
import { CollectionServices } from '../services/collections.ts';
import { DocumentServices } from '../services/documents.ts';
import { FileServices } from '../services/files.ts';
import { Inspection } from '../services/inspection.ts';
import { ModelService } from '../services/models.ts';
import { ParserServices } from '../services/parsers.ts';
import { QueryServices } from '../services/queries.ts';
import { StatusServices } from '../services/status.ts';
import { UsageService } from '../services/usage.ts';
import { UserService } from '../services/users.ts';
import type { DataDirectory } from '../store/data-directory.ts';
import { parseOutsideCollections } from '../usage/facts.ts';
import { UsageLedger } from '../usage/ledger.ts';
import { chance, clock, turns } from './given.ts';
import { buildSearch, modelTrouble, type Pipeline } from './pipeline.ts';
import { storageOf } from './quotas.ts';
import type { Pools, Storage } from './storage.ts';

/** The use cases, each bound to the rooms that it needs. */

interface ServiceParts {
  readonly settings: Settings;
  readonly data: DataDirectory;
  readonly storage: Storage;
  readonly pools: Pools;
  readonly pipeline: Pipeline;
  readonly organisations: OrganisationDirectory;
  readonly tiers: EffectiveTiers;
  readonly keys: KeyRing;
  readonly audit: AuditLog;
  readonly directory: UserDirectory;
  readonly secondFactors: SecondFactors;
  readonly endOrganisation: OrganisationRemoval['begin'];
  /** Clears away the deleted collections that are due. */
  readonly sweep: () => Promise<void>;
  readonly gate: ModelAdmission;
  readonly quotas: Quotas;
  /** What limits remember of an organisation. */
  readonly forget: (organizationId: string) => Promise<void>;
  readonly images: PageImages;
  readonly made: DerivedFiles;
}

/** The use cases of retrieval, and how everything that an organisation stored is deleted. */
interface RetrievalServices {
  readonly services: Services;
  readonly removeData: (organizationId: string) => Promise<boolean>;
}

export function buildServices(parts: ServiceParts): RetrievalServices {
  const { settings, data, storage, pipeline, organisations, audit, gate, quotas, images } = parts;
  const { meter, indexes } = storage;
  const { catalogue } = pipeline;
  const addresses = new Addresses(data.secrets[0]!);
  const waitsFor = (collectionId: string) =>
    pipeline.memory.shortage ?? modelTrouble(storage, catalogue, collectionId);
  const collections = new CollectionServices({
    ...storage,
    ...{ audit, clock, chance },
    model: catalogue.embeddingDefault,
    modelNamed: (name) => catalogue.embedding(name),
    lifecycle: {
      modelChanged: ({ collectionId }) => pipeline.modelChanges.look(collectionId),
      open: (collection) => indexes.open(collection),
      remove: ({ collectionId }) => {
        pipeline.ingest.abandonCollection(collectionId);
        pipeline.modelChanges.look(collectionId);
        return indexes.remove(collectionId);
      },
    },
  });
  const documents = new DocumentServices({
    ...storage,
    ...pipeline,
    addresses,
    ...{ audit, clock, turns },
    waitsFor,
    quotas,
    waits: new WaitLimiter(limits.waitsRunningMax),
    fileBytesMax: settings.uploadBytesMax,
    metadataBytesMax: (organizationId) => organisations.limitsOf(organizationId).metadataBytesMax,
  });
  const queries = queryServices(parts, addresses);
  const files = new FileServices({ ...storage, images, secrets: data.secrets });
  const status = new StatusServices({
    ...storage,
    clock,
    waitsFor,
    firstModel: defaultEmbeddingModel,
    parsingIn: (collectionId) => pipeline.ingest.parsingIn(collectionId),
    changeOf: (collection) => pipeline.modelChanges.progressOf(collection),
  });
  const ledger = new UsageLedger({ store: storage.store, clock });
  const usage = new UsageService({ meter, ledger, collections: storage.collections });
  const rooms = {
    ...{ collections, documents, queries, files, status, usage },
    parsers: parserServices(parts),
    models: modelService({ settings: parts.settings, pipeline, gate, meter }),
    inspection: inspectionOf(parts),
    ...administration(parts),
  };
  return {
    services: bindServices(rooms),
    removeData: async (organizationId) => {
      await collections.deleteAllOf(organizationId);
      await parts.sweep();
      const waiting = await storage.collections.tombstones();
      if (waiting.some((tombstone) => tombstone.organizationId === organizationId)) return false;
      await ledger.forget(organizationId);
      await parts.forget(organizationId);
      return true;
    },
  };
}

function administration(parts: ServiceParts): Pick<ServiceRooms, 'admin' | 'users'> {
  const { organisations, tiers, keys, audit, quotas, pipeline, secondFactors } = parts;
  return {
    admin: new AdminService({
      ...{ organisations, tiers, keys, audit, end: parts.endOrganisation },
      storageOf: storageOf(quotas, pipeline),
    }),
    users: new UserService(parts.directory, {
      status: () => secondFactors.status(administratorId),
      begin: () => secondFactors.begin(administratorId, 'administrator'),
      confirm: (code, by) => secondFactors.confirm(administratorId, code, by),
      disable: (code, by) => secondFactors.disable(administratorId, code, by),
    }),
  };
}

function queryServices({ settings, storage, pipeline }: ServiceParts, addresses: Addresses): QueryServices {
  return new QueryServices({
    ...storage,
    search: buildSearch(settings, storage, pipeline),
    addresses,
    clock,
    semaphoreOf: querySemaphores(settings, pipeline),
    rerankModels: () => pipeline.catalogue.rerankerNames,
    rerankerDefault: settings.reranker,
    embedModel: defaultEmbeddingModel,
  });
}

function parserServices({ settings, storage, pools, pipeline, quotas }: ServiceParts): ParserServices {
  const { blobsFolder: folder } = storage;
  const { parseLimits } = pipeline;
  const reader = new FileReader({ pool: pools.parse, folder, parseLimits, chance });
  const semaphore = parserSemaphore(settings);
  return new ParserServices({
    reader,
    semaphore,
    spendBytes: (organizationId, bytes) => quotas.spendDocumentBytes(organizationId, bytes),
    recordParse: (parse) => storage.meter.recordDocument(parseOutsideCollections(parse)),
    fileBytesMax: settings.uploadBytesMax,
    clock,
  });
}

function inspectionOf({
  data,
  storage,
  made,
  audit,
}: Pick<ServiceParts, 'data' | 'storage' | 'made' | 'audit'>) {
  const { store, blobs } = storage;
  return new Inspection({ store, blobs, audit, indexFolder: data.indexPath, madeFolder: made.folder });
}

function querySemaphores(
  { queriesRunningMax, rerankedQueriesRunningMax }: Settings,
  { catalogue }: Pipeline,
): (reranker: string | null) => FairSemaphore {
  const semaphore = (permits: number) =>
    organizationSemaphore({
      ...{ permits, waitingMax: limits.queriesWaitingMax, what: 'queries' },
      overload: new OverloadDetector(clock),
    });
  const plain = semaphore(queriesRunningMax);
  const reranked = semaphore(rerankedQueriesRunningMax);
  const service = semaphore(Math.max(limits.serviceRerankedQueriesMax, rerankedQueriesRunningMax));
  return (reranker) => {
    if (reranker === null) return plain;
    const { runs } = catalogue.reranker(reranker);
    return runs !== 'built-in' && 'provider' in runs ? service : reranked;
  };
}

/** As many as the documents that are read to be stored: so each of both gets half of the parsers. */
function parserSemaphore({ parseThreads: permits }: Settings): FairSemaphore {
  return organizationSemaphore({ permits, waitingMax: limits.filesWaitingMax, what: 'files' });
}

function modelService({
  settings,
  pipeline,
  gate,
  meter,
}: Pick<ServiceParts, 'settings' | 'pipeline' | 'gate'> & Pick<Storage, 'meter'>): ModelService {
  const { catalogue } = pipeline;
  return new ModelService({
    runs: pipeline.models,
    gate,
    meter,
    clock,
    catalogue: {
      list: () => ({
        embedding_models: [...catalogue.embeddingNames],
        rerankers: [...catalogue.rerankerNames],
        default_embedding_model: catalogue.embeddingDefault.id,
        default_reranker: settings.reranker,
      }),
      dimensionsOf: (id, asked) => catalogue.dimensionsOf(id, asked),
      checkReranker: (id) => {
        catalogue.reranker(id);
      },
      toDimensions,
    },
  });
}

/** The use cases, by the names of their operations. */
interface ServiceRooms {
  readonly collections: CollectionServices;
  readonly documents: DocumentServices;
  readonly queries: QueryServices;
  readonly files: FileServices;
  readonly status: StatusServices;
  readonly parsers: ParserServices;
  readonly models: ModelService;
  readonly admin: AdminService;
  readonly users: UserService;
  readonly inspection: Inspection;
  readonly usage: UsageService;
}

function bindServices(rooms: ServiceRooms): Services {
  const { collections, documents, queries, files, status, parsers, models, admin, users, inspection, usage } =
    rooms;
  return {
    addCollection: (call, request) => collections.addCollection(call, request),
    deleteCollection: (call, request) => collections.deleteCollection(call, request),
    updateCollection: (call, request) => collections.updateCollection(call, request),
    changeModel: (call, request) => collections.changeModel(call, request),
    getCollectionList: (call) => collections.getCollectionList(call),
    addDocument: (call, request) => documents.addDocument(call, request),
    addDocuments: (call, request) => documents.addDocuments(call, request),
    uploadDocument: (call, parameters, body) => documents.uploadDocument(call, parameters, body),
    updateDocument: (call, request) => documents.updateDocument(call, request),
    deleteDocument: (call, request) => documents.deleteDocument(call, request),
    getDocumentInfo: (call, request) => documents.getDocumentInfo(call, request),
    getDocumentInfoList: (call, request) => documents.getDocumentInfoList(call, request),
    getPageInfo: (call, request) => documents.getPageInfo(call, request),
    getDocumentFile: (call, token) => files.getDocumentFile(call, token),
    getPageImage: (call, token, width) => files.getPageImage(call, token, width),
    getStatus: (call, request) => status.getStatus(call, request),
    topDocuments: (call, request) => queries.topDocuments(call, request),
    topPages: (call, request) => queries.topPages(call, request),
    topSnippets: (call, request) => queries.topSnippets(call, request),
    parseDocument: (call, request) => parsers.parseDocument(call, request),
    getModelList: () => models.getModelList(),
    embed: (call, request) => models.embed(call, request),
    rerank: (call, request) => models.rerank(call, request),
    openAiEmbeddings: (call, request) => models.openAiEmbeddings(call, request),
    cohereRerank: (call, request) => models.cohereRerank(call, request),
    createOrganization: (call, request) => admin.createOrganization(call, request),
    listOrganizations: (call, request) => admin.listOrganizations(call, request),
    getOrganization: (call, request) => admin.getOrganization(call, request),
    updateOrganization: (call, request) => admin.updateOrganization(call, request),
    addApiKey: (call, request) => admin.addApiKey(call, request),
    listApiKeys: (call, request) => admin.listApiKeys(call, request),
    updateApiKey: (call, request) => admin.updateApiKey(call, request),
    deleteApiKey: (call, request) => admin.deleteApiKey(call, request),
    deleteOrganization: (call, request) => admin.deleteOrganization(call, request),
    inspectOrganization: (call, request) => inspection.inspectOrganization(call, request),
    getAuditLog: (call, request) => admin.getAuditLog(call, request),
    listUsers: (call, request) => users.listUsers(call, request),
    endUserSessions: (call, request) => users.endUserSessions(call, request),
    disableUser: (call, request) => users.disableUser(call, request),
    enableUser: (call, request) => users.enableUser(call, request),
    deleteUser: (call, request) => users.deleteUser(call, request),
    resetSecondFactor: (call, request) => users.resetSecondFactor(call, request),
    getAdministratorSecondFactor: () => users.getAdministratorSecondFactor(),
    beginAdministratorSecondFactor: () => users.beginAdministratorSecondFactor(),
    confirmAdministratorSecondFactor: (call, request) =>
      users.confirmAdministratorSecondFactor(call, request),
    disableAdministratorSecondFactor: (call, request) =>
      users.disableAdministratorSecondFactor(call, request),
    usageDocuments: (call, request) => usage.documents(call, request),
    usageQueries: (call, request) => usage.queries(call, request),
    usageReranker: (call, request) => usage.reranker(call, request),
    usageEmbed: (call, request) => usage.embed(call, request),
    usageModelsCounters: (call) => usage.modelsCounters(call),
    usageCounters: (call) => usage.counters(call),
  };
}
