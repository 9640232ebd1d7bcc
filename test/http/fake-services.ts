import { unauthorizedError } from '../../src/auth/authorize.ts';
import { EventLoopScheduler } from '../../src/core/async/event-loop-scheduler.ts';
import { systemClock } from '../../src/core/clock.ts';
import { systemRandom } from '../../src/core/ids.ts';
import { limits } from '../../src/core/limits.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { Metrics } from '../../src/core/metrics.ts';
import type { CertificateMonitor } from '../../src/http/certificate-monitor.ts';
import { Dashboard } from '../../src/http/dashboard.ts';
import type { ServerBounds } from '../../src/http/exchange.ts';
import { parseJson } from '../../src/http/json-body.ts';
import { LargeBodyReader } from '../../src/http/large-body-reader.ts';
import { type HttpListener, startHttpListener } from '../../src/http/listen.ts';
import type { ListenerName } from '../../src/http/listen-error.ts';
import { RequestHandler } from '../../src/http/request-handler.ts';
import type {
  RequestHandlerOptions,
  RequestHandlerSettings,
} from '../../src/http/request-handler-options.ts';
import type { AccountServices } from '../../src/http/routes/account-route.ts';
import { routes } from '../../src/http/routes/routes.ts';
import type { Services } from '../../src/http/services.ts';
import { decodeFile } from '../../src/requests/base64.ts';
import { prepareRequest } from '../../src/requests/prepare-request.ts';
import type { DocumentResponse } from '../../src/schemas/documents.ts';
import { toWireLimits, toWireOverrides } from '../../src/schemas/organization-limits.ts';
import type { Principal } from '../../src/schemas/principal.ts';
import { RenderedJson } from '../../src/services/rendered-json.ts';
import { noOverrides } from '../../src/storage/organizations.ts';
import { fakeClientServices } from './fake-client-services.ts';
import { fakeInstallation } from './fake-installation-services.ts';
import { fakeConnections } from './fake-webhook-services.ts';
import { serverBounds, settings } from './test-settings.ts';

/** Services that answer every operation with a small reply of the documented shape, and the HTTP server over them. */

export const uuid = '00000000-0000-4000-8000-000000000001';
export const pageBytes = new Uint8Array([0xff, 0xd8, 0xff, 0xd9]);

const document: DocumentResponse = {
  id: uuid,
  collection_name: 'c',
  path: 'p',
  metadata: {},
  index_status: 'indexed',
  size: 1,
  num_pages: 1,
  file_url: 'http://x/v1/documents/get-document?token=t',
  sha256: '0'.repeat(64),
  error: null,
  error_code: null,
  title: null,
  language: null,
  warnings: [],
  content: null,
};
const collectionInfo = {
  id: uuid,
  collection_name: 'c',
  created_at: '2026-11-21T00:00:00.000Z',
  num_shards: 1,
  embedding_model: 'zembed-1',
  dimensions: 8,
};
const metric = { count: 0, bytes: 0, billable_units: 0 };
const models = { rerank: metric, embed: metric };
const counters = { docs: metric, ocr: metric, indexed: metric, queries: metric };
const noBackup = {
  target: null,
  running: null,
  last_backup: null,
  last_error: null,
  next_at: null,
  recoverable: [],
  last_verified_restore: null,
  rehearsal_error: null,
};
const success = { message: 'Success!' };
const { content: _, ...listed } = document;

/** All operations in one object, so that a test replaces one without naming its service. */
type FakeServices = Omit<
  Services['collections'] &
    Services['clones'] &
    Services['names'] &
    Services['documents'] &
    Services['uploads'] &
    Services['exports'] &
    Services['changes'] &
    Services['changeFeed'] &
    Services['files'] &
    Services['queries'] &
    Services['status'] &
    Services['parsers'] &
    Services['models'] &
    Services['openAi'] &
    Services['cohere'] &
    Services['admin'] &
    Services['inspection'] &
    Services['users'] &
    Services['backups'],
  'deleteAllOfOrganization' | 'addClone'
> & {
  readonly usageDocuments: Services['usage']['documents'];
  readonly usageQueries: Services['usage']['queries'];
  readonly usageReranker: Services['usage']['reranker'];
  readonly usageEmbed: Services['usage']['embed'];
  readonly usageModelsCounters: Services['usage']['modelsCounters'];
  readonly usageCounters: Services['usage']['counters'];
};

const fakeServices: FakeServices = {
  addCollection: async () => success,
  deleteCollection: async () => success,
  updateCollection: async () => success,
  changeModel: async () => success,
  getCollectionList: async () => ({ collection_names: ['a', 'b'] }),
  cloneCollection: async () => ({ num_documents: 0, path_gt: null }),
  renameCollection: async () => success,
  addAlias: async () => success,
  updateAliases: async () => success,
  deleteAlias: async () => success,
  getAliasList: async () => ({ aliases: [] }),
  getChanges: async () => ({ changes: [], cursor: 'cursor', has_more: false }),
  streamChanges: async () => ({
    events: (async function* () {
      yield Buffer.from('data: one\n\n');
      yield Buffer.from('data: two\n\n');
    })(),
    close: () => {},
  }),
  getCollectionInfo: async () => ({ collection: collectionInfo }),
  exportDocuments: async () => RenderedJson.of({ documents: [] }),
  addDocument: async (_call, { content, overwrite }) => {
    if (content.type === 'auto') decodeFile(content.base64_data, 1_000_000);
    return { status: overwrite ? 200 : 201, body: success };
  },
  addDocuments: async (_call, request) => ({
    results: request.documents.map(() => ({ path: null, status: 422, detail: 'no' })),
  }),
  uploadDocument: async (_call, { overwrite }, body) => {
    for await (const _chunk of body);
    return { status: overwrite ? 200 : 201, body: success };
  },
  updateDocument: async () => success,
  deleteDocument: async (_call, { path }) => ({ deleted_paths: typeof path === 'string' ? [path] : path }),
  deleteDocuments: async () => ({ deleted_paths: [], has_more: false }),
  updateDocuments: async () => ({ updated_paths: [], skipped_paths: [], has_more: false }),
  getDocumentInfo: async () => ({ document: { ...document, content: null } }),
  getDocumentInfoList: async () => ({ documents: [{ ...listed, created_at: '2026-11-21T00:00:00.000Z' }] }),
  getPageInfo: async (_call, { path, page_index }) => ({
    page: {
      id: uuid,
      collection_name: 'c',
      path,
      page_index,
      start_index: null,
      content: null,
      image_url: null,
    },
  }),
  getDocumentText: async (_call, { path }) => ({
    text: {
      collection_name: 'c',
      path,
      num_pages: 1,
      length: 1,
      start_index: 0,
      end_index: 1,
      page_span: [0, 1],
      next_index: null,
      content: 'x',
    },
  }),
  getDocumentFile: async () => fakeFileReply('hello'),
  getPageImage: async () => ({ bytes: pageBytes, contentType: 'image/jpeg' }),
  getStatus: async () => ({
    num_documents: 0,
    num_parsing_documents: 0,
    num_indexing_documents: 0,
    num_indexed_documents: 0,
    num_failed_documents: 0,
    num_indexed_bytes: 0,
  }),
  topDocuments: async () =>
    RenderedJson.of({ results: [{ path: 'p', score: 1, metadata: null, file_url: document.file_url }] }),
  topPages: async () => RenderedJson.of({ results: [], document_results: [] }),
  topSnippets: async () => RenderedJson.of({ results: [], document_results: [] }),
  parseDocument: async (_call, { base64_data }) => ({
    pages: [Buffer.from(decodeFile(base64_data, 1_000_000)).toString()],
    warnings: [],
  }),
  getModelList: async () => ({
    embedding_models: ['zembed-1'],
    rerankers: ['zerank-2'],
    default_embedding_model: 'zembed-1',
    default_reranker: null,
  }),
  embed: async () => ({ results: [{ embedding: [1, 0] }], usage: { total_bytes: 1, total_tokens: 1 } }),
  rerank: async () => ({
    results: [{ index: 0, relevance_score: 0.5 }],
    total_bytes: 1,
    total_tokens: 1,
    actual_latency_mode: 'fast',
    e2e_latency: 0.1,
    inference_latency: 0.1,
  }),
  ...fakeClientServices,
  createOrganization: async () => success,
  listOrganizations: async () => ({ organizations: [], next_after: null }),
  getOrganization: async (_call, { organization_id }) => ({
    organization_id,
    name: 'n',
    subscription_tier: 'free',
    ...toWireOverrides(noOverrides),
    rate_limits: toWireLimits({ ...noOverrides, bytesPerRequestMax: 5_000_000 }, noOverrides),
    storage: { documents: 0, bytes: 0, ingest_documents: 0 },
    zdr: false,
  }),
  updateOrganization: async () => success,
  addApiKey: async () => ({ api_key: 'ze_x' }),
  listApiKeys: async () => ({ api_keys: [] }),
  updateApiKey: async () => success,
  deleteApiKey: async () => success,
  deleteOrganization: async () => success,
  inspectOrganization: async (_call, { organization_id }) => ({
    organization_id,
    state: 'exists',
    removed_at: null,
    remains: [{ place: 'organisations', count: 1 }],
    orphans: [],
  }),
  getAuditLog: async () => ({ entries: [], next_cursor: null }),
  listUsers: async () => ({ users: [], next_after: null }),
  endUserSessions: async () => success,
  disableUser: async () => success,
  enableUser: async () => success,
  deleteUser: async () => success,
  resetSecondFactor: async () => success,
  createPasswordLink: async () => ({
    url: 'http://127.0.0.1/app/password#token',
    expires_at: '2026-01-01T00:00:00.000Z',
  }),
  getAdministratorSecondFactor: async () => ({
    is_enabled: false,
    enabled_at: null,
    recovery_codes_left: 0,
  }),
  beginAdministratorSecondFactor: async () => ({ secret: '', otpauth_url: '' }),
  confirmAdministratorSecondFactor: async () => ({ recovery_codes: [] }),
  disableAdministratorSecondFactor: async () => success,
  createBackup: async () => noBackup,
  getBackupStatus: async () => noBackup,
  usageDocuments: async () => [],
  usageQueries: async () => [],
  usageReranker: async () => [],
  usageEmbed: async () => [],
  usageModelsCounters: async () => ({ all_time: models, billing_cycle: models }),
  usageCounters: async () => ({ all_time: counters, billing_cycle: counters }),
};

export function fakeFileReply(text: string, contentType = 'text/plain; charset=utf-8', filename = 'p') {
  const bytes = Buffer.from(text);
  return {
    size: bytes.length,
    contentType,
    filename,
    etag: 'e1',
    open: async function* ({ start, end }: { start: number; end: number }) {
      yield bytes.subarray(start, end);
    },
  };
}

const ids = { organizationId: uuid, keyId: uuid } as const;
const key: Principal = { ...ids, kind: 'organization', permission: 'all', zdr: false };
const principals: Readonly<Record<string, Principal>> = {
  'Bearer all': key,
  'Bearer read': { ...key, permission: 'read_only' },
  'Bearer zdr': { ...key, zdr: true },
  'Bearer admin': { kind: 'administrator' },
};

export interface TestHttpServer extends HttpListener {
  readonly url: string;
  readonly metrics: Metrics;
}

export interface TestHttpServerOptions extends Partial<Omit<RequestHandlerOptions, 'services' | 'settings'>> {
  readonly services?: Partial<FakeServices>;
  readonly settings?: Partial<RequestHandlerSettings>;
  readonly bounds?: Partial<ServerBounds>;
  readonly listener?: ListenerName;
  readonly certificates?: CertificateMonitor;
}

export async function startTestHttpServer(
  kind: 'uws' | 'node' | 'auto',
  options: TestHttpServerOptions = {},
): Promise<TestHttpServer> {
  const metrics = new Metrics();
  const server = new RequestHandler({
    routes,
    authenticator: {
      authenticate: (credentials) => {
        const header = credentials.header('authorization');
        if (header === undefined) return null;
        const principal = principals[header];
        if (!principal) throw unauthorizedError('The API key is not valid.');
        return principal;
      },
    },
    metadataBytesMax: () => limits.metadataBytesMax,
    modelBytesMax: () => limits.modelBytesMax,
    notReadyReason: () => null,
    readiness: () => ({ ready: true, components: { store: { ready: true } } }),
    dashboard: new Dashboard(new Map()),
    metrics,
    logger: silentLogger,
    clock: systemClock,
    scheduler: new EventLoopScheduler(systemClock),
    bodyScheduler: new EventLoopScheduler(systemClock),
    largeBodies: new LargeBodyReader({
      pool: { run: async (task) => prepareRequest(task, parseJson) },
      semaphore: { acquire: () => null, release: () => {} },
      fileBytesMax: 200_000_000,
    }),
    random: systemRandom,
    version: '0.1.0',
    validateReplies: true,
    ...options,
    accounts: options.accounts ?? ({} as AccountServices),
    services: groupServices({ ...fakeServices, ...options.services }),
    settings: { ...settings, ...options.settings },
  });
  const open = await startHttpListener({
    requestHandler: server,
    kind,
    name: options.listener ?? 'public',
    host: '127.0.0.1',
    port: 0,
    bounds: { ...serverBounds, ...options.bounds },
    certificates: options.certificates ?? null,
    logger: silentLogger,
  });
  return { ...open, metrics, url: `http://127.0.0.1:${open.port}` };
}

function groupServices(operations: FakeServices): Services {
  const {
    usageDocuments: documents,
    usageQueries: queries,
    usageReranker: reranker,
    usageEmbed: embed,
    usageModelsCounters: modelsCounters,
    usageCounters: counters,
  } = operations;
  return {
    collections: {
      ...operations,
      deleteAllOfOrganization: async () => {},
      addClone: () => Promise.reject(new Error('called by another service only')),
    },
    clones: operations,
    names: operations,
    documents: operations,
    uploads: operations,
    exports: operations,
    changes: operations,
    changeFeed: operations,
    files: operations,
    queries: operations,
    status: operations,
    parsers: operations,
    models: operations,
    openAi: operations,
    cohere: operations,
    admin: operations,
    inspection: operations,
    installation: fakeInstallation,
    users: operations,
    backups: operations,
    ...fakeConnections,
    usage: { documents, queries, reranker, embed, modelsCounters, counters },
  };
}

/** Posts JSON (or raw text) with a key that has all permissions. */
export function post(
  server: TestHttpServer,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { authorization: 'Bearer all', 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' || body === undefined ? (body ?? null) : JSON.stringify(body),
  });
}
