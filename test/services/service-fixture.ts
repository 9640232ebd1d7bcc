import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { AuditLog } from '../../src/audit/audit-log.ts';
import { AppError } from '../../src/core/app-error.ts';
import { BackgroundScheduler } from '../../src/core/async/background-scheduler.ts';
import { KeyedMutex } from '../../src/core/async/mutex.ts';
import { systemRandom } from '../../src/core/ids.ts';
import { Sealer } from '../../src/core/sealer.ts';
import type { OrganizationPrincipal } from '../../src/schemas/principal.ts';
import type { ServiceCall } from '../../src/services/call.ts';
import { CollectionServices } from '../../src/services/collections.ts';
import { DocumentUploadServices } from '../../src/services/document-uploads.ts';
import { DocumentUrls } from '../../src/services/document-urls.ts';
import { DocumentServices } from '../../src/services/documents.ts';
import { FileServices } from '../../src/services/files.ts';
import { Moments } from '../../src/services/moments.ts';
import { QueryServices } from '../../src/services/queries.ts';
import { SlowQueryLog } from '../../src/services/slow-query-log.ts';
import { StatusServices } from '../../src/services/status.ts';
import { cancellationTokenWith } from '../core/cancellation-token.ts';
import { openComponents, organizationId } from '../ingest/controllable-store.ts';
import { tokenSecret } from '../simulate/server-components.ts';
import type { Test } from '../support/tap.ts';

const clock = { now: () => Date.now(), monotonic: () => performance.now() };

const unlimitedAdmission = { acquire: () => null, release: () => {} };

export function serviceCallFor(organization = organizationId): ServiceCall<OrganizationPrincipal> {
  return {
    principal: {
      kind: 'organization',
      organizationId: organization,
      keyId: 'key',
      permission: 'all',
      zdr: false,
    },
    requestId: 'request',
    baseUrl: 'http://quarry.test',
    receivedAt: performance.now(),
    yieldToEventLoop: () => null,
    address: () => '192.0.2.1',
    now: () => Date.now(),
    cancellation: cancellationTokenWith(),
  };
}

type Components = Awaited<ReturnType<typeof openComponents>>;

function createCollectionServices(first: Components): CollectionServices {
  return new CollectionServices({
    ...first,
    clock,
    audit: new AuditLog({ store: first.store, clock, random: systemRandom }),
    random: systemRandom,
    model: { id: 'letters', version: '1', dimensions: 8 },
    defaultModel: 'letters',
    nameLocks: new KeyedMutex(),
    findModel: (id) => ({ id, version: '1', dimensions: 8 }),
    lifecycle: {
      onModelChanged: () => {},
      open: (collection) => first.indexes.open(collection),
      remove: ({ collectionId }) => {
        first.ingest.abandonCollection(collectionId);
        return first.indexes.remove(collectionId);
      },
    },
  });
}

/** `admission` and `admissionError` are replaced by tests: they refuse new documents, or let them wait. */
function createDocumentServices(first: Components, documentUrls: DocumentUrls) {
  const admission = { check() {} };
  /** Reason for which documents wait; null for none. */
  const admissionError: { reason: string | null } = { reason: null };
  const common = {
    ...first,
    admission: { check: () => admission.check() },
  };
  const documents = new DocumentServices({
    ...common,
    documentUrls,
    audit: new AuditLog({ store: first.store, clock, random: systemRandom }),
    metadataBytesMax: () => 65_535,
    findWaitReason: () => admissionError.reason,
  });
  const uploads = new DocumentUploadServices({
    ...common,
    clock,
    backgroundScheduler: new BackgroundScheduler(clock),
    quotas: { reserve: () => null },
    waitLimiter: { tryAcquire: () => true, release: () => {} },
    fileBytesMax: 1_000_000,
    metadataBytesMax: () => 65_535,
  });
  return { documents, uploads, admission, admissionError };
}

/** Query services, and the usage that they record. */
export function createQueryServices(
  first: Components,
  documentUrls: DocumentUrls,
  replaced: Partial<ConstructorParameters<typeof QueryServices>[0]> = {},
) {
  const recordedUsage: object[] = [];
  const recordedModelUsage: object[] = [];
  const slowQueryLines: Readonly<Record<string, unknown>>[] = [];
  const slowQueries = new SlowQueryLog({
    thresholdMs: 0,
    clock: { monotonic: () => Number.MAX_SAFE_INTEGER },
    logger: { warn: (fields) => void slowQueryLines.push(fields) },
    count: () => undefined,
  });
  const queries = new QueryServices({
    ...first,
    documentUrls,
    clock,
    meter: {
      recordQuery: (usageEvent) => void recordedUsage.push(usageEvent),
      recordEmbed: (usageEvent) => void recordedModelUsage.push({ kind: 'embed', ...usageEvent }),
      recordRerank: (usageEvent) => void recordedModelUsage.push({ kind: 'rerank', ...usageEvent }),
    },
    semaphoreOf: () => unlimitedAdmission,
    models: {
      checkReranker: (name) => {
        if (name !== 'zerank-2') throw new AppError('not_found', 'Available: zerank-2.');
      },
      describeReranker: (name) => `${name}@1`,
      describeForCollection: () => 'letters@1',
      isSubstitute: () => false,
    },
    rerankerDefault: null,
    defaultEmbeddingModel: 'letters',
    chargeQueries: () => undefined,
    // Queries of the past have tests of their own, with a server.
    past: {
      findSequence: async () => null,
      run: async () => assert.fail('no test sends as_of'),
    },
    moments: new Moments(new Sealer([tokenSecret], systemRandom)),
    slowQueries,
    ...replaced,
  });
  return { queries, recordedUsage, recordedModelUsage, slowQueryLines };
}

/** Services over the modules of a server, with a collection `papers`. */
export async function createServices(t: Test, options: Parameters<typeof openComponents>[1] = {}) {
  const first = await openComponents(t, options);
  const documentUrls = new DocumentUrls(tokenSecret);
  const documentServices = createDocumentServices(first, documentUrls);
  const renderedImages: number[] = [];
  const images = {
    get: async ({ page }: { readonly page: number }) => {
      renderedImages.push(page);
      return Uint8Array.of(0xff, 0xd8, page);
    },
  };
  const status = new StatusServices({
    describeIndex: (collectionId) => first.indexes.describe(collectionId),
    ...first,
    clock,
    findWaitReason: () => documentServices.admissionError.reason,
    modelDefault: 'letters',
    parsingDocumentsIn: () => [],
    modelChangeOf: () => null,
  });
  return {
    first,
    status,
    renderedImages,
    ...documentServices,
    ...createQueryServices(first, documentUrls),
    collections: createCollectionServices(first),
    files: new FileServices({ ...first, images, secrets: [tokenSecret] }),
  };
}
export type ServiceFixture = Awaited<ReturnType<typeof createServices>>;

/** Adds a text and waits until it is indexed. */
export function addTextDocument(
  { uploads }: ServiceFixture,
  path: string,
  text: string,
  fields: object = {},
) {
  const content = { type: 'text' as const, text };
  const request = { collection_name: 'papers', path, content, wait: true, overwrite: true, ...fields };
  return uploads.addDocument(serviceCallFor(), request);
}

export function sha256(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

export function fileTokenOf(address: string): string {
  return new URL(address).searchParams.get('token')!;
}
