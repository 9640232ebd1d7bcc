import { unauthorizedError } from '../../src/auth/authorize.ts';
import { AppError } from '../../src/core/app-error.ts';
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
import { serverBounds, settings } from './test-settings.ts';

/** Services that answer with small replies of the documented shape, and the HTTP server over them. */

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
const metric = { count: 0, bytes: 0, billable_units: 0 };
const models = { rerank: metric, embed: metric };
const counters = { docs: metric, ocr: metric, indexed: metric, queries: metric };
const success = { message: 'Success!' };
const { content: _, ...listed } = document;

type Intersection<Union> = (Union extends unknown ? (value: Union) => void : never) extends (
  value: infer All,
) => void
  ? All
  : never;

/**
 * Methods of all services in one object, so that a test replaces one without naming its service. Not those of the usage
 * service, which has a method `embed` like the model service.
 */
type FakeServices = Partial<Intersection<Services[Exclude<keyof Services, 'usage'>]>>;

/** Fakes of the operations that several tests call; a test passes the others itself. */
const fakeServices: FakeServices = {
  addCollection: async () => success,
  deleteCollection: async () => success,
  getCollectionList: async () => ({ collection_names: ['a', 'b'] }),
  addDocument: async (_call, { content, overwrite }) => {
    if (content.type === 'auto') decodeFile(content.base64_data, 1_000_000);
    return { status: overwrite ? 200 : 201, body: success };
  },
  uploadDocument: async (_call, { overwrite }, body) => {
    for await (const _chunk of body);
    return { status: overwrite ? 200 : 201, body: success };
  },
  deleteDocument: async (_call, { path }) => ({ deleted_paths: typeof path === 'string' ? [path] : path }),
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
  suggest: async () => ({ suggestions: [{ query: 'granite', num_documents: 1 }] }),
  parseDocument: async (_call, { base64_data }) => ({
    pages: [Buffer.from(decodeFile(base64_data, 1_000_000)).toString()],
    warnings: [],
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
  openAiEmbeddings: async () => ({
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: [1, 0] }],
    model: 'zembed-1',
    usage: { prompt_tokens: 1, total_tokens: 1 },
  }),
  cohereRerank: async () => ({
    id: uuid,
    results: [{ index: 0, relevance_score: 0.5 }],
    meta: {
      api_version: { version: '2' },
      billed_units: { search_units: 1 },
      tokens: { input_tokens: 1 },
    },
    model: 'zerank-2',
    object: 'list',
    usage: { total_tokens: 1 },
  }),
  createOrganization: async () => success,
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
};

const fakeUsage: Services['usage'] = {
  documents: async () => [],
  queries: async () => [],
  reranker: async () => [],
  embed: async () => [],
  modelsCounters: async () => ({ all_time: models, billing_cycle: models }),
  counters: async () => ({ all_time: counters, billing_cycle: counters }),
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
    services: createServices({ ...fakeServices, ...options.services }),
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

/** Services with these methods; every other method throws an error with its name. */
function createServices(methods: FakeServices): Services {
  const service = new Proxy(methods, {
    get: (_target, name) => Reflect.get(methods, name) ?? (() => missingFake(String(name))),
  });
  return new Proxy({} as Services, { get: (_target, name) => (name === 'usage' ? fakeUsage : service) });
}

function missingFake(method: string): never {
  throw new AppError('unavailable', `The test server has no fake of ${method}. Pass one in \`services\`.`);
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
