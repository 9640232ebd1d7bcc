import { createHash } from 'node:crypto';
import type { Test } from 'tap';
import { AuditLog } from '../../src/audit/audit-log.ts';
import { systemChance } from '../../src/base/ids.ts';
import { Turns } from '../../src/base/turns.ts';
import type { OrganisationPrincipal } from '../../src/schemas/principal.ts';
import { Addresses } from '../../src/services/addresses.ts';
import type { Call } from '../../src/services/call.ts';
import { CollectionServices } from '../../src/services/collections.ts';
import { DocumentServices } from '../../src/services/documents.ts';
import { FileServices } from '../../src/services/files.ts';
import { QueryServices } from '../../src/services/queries.ts';
import { StatusServices } from '../../src/services/status.ts';
import { callerWith } from '../base/caller.ts';
import { organizationId, rooms } from '../pipeline/held-store.ts';
import { secret } from '../simulate/process.ts';

const clock = { now: () => Date.now(), monotonic: () => performance.now() };

const unlimited = { acquire: () => null, release: () => {} };

export function callOf(organization = organizationId): Call<OrganisationPrincipal> {
  return {
    principal: {
      kind: 'organisation',
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
    caller: callerWith(),
  };
}

/** The use cases over the rooms of a server, with a collection `papers`. */
export async function useCases(t: Test, options: Parameters<typeof rooms>[1] = {}) {
  const first = await rooms(t, options);
  const addresses = new Addresses(secret);
  const drawn: number[] = [];
  const recorded: object[] = [];
  const modelled: object[] = [];
  /** Refuses new documents while a test says so. */
  const admission = { check() {} };
  /** What documents wait for while a test says so. */
  const obstacle: { reason: string | null } = { reason: null };
  const audit = new AuditLog({ store: first.store, clock, chance: systemChance });
  const collections = new CollectionServices({
    ...first,
    clock,
    audit,
    chance: systemChance,
    model: { id: 'letters', version: '1', dimensions: 8 },
    modelNamed: (id) => ({ id, version: '1', dimensions: 8 }),
    lifecycle: {
      modelChanged: () => {},
      open: (collection) => first.indexes.open(collection),
      remove: ({ collectionId }) => {
        first.ingest.abandonCollection(collectionId);
        return first.indexes.remove(collectionId);
      },
    },
  });
  const documents = new DocumentServices({
    ...first,
    addresses,
    clock,
    audit,
    turns: new Turns(clock),
    admission: { check: () => admission.check() },
    quotas: { take: () => null },
    waits: { tryAcquire: () => true, release: () => {} },
    fileBytesMax: 1_000_000,
    metadataBytesMax: () => 65_535,
    waitsFor: () => obstacle.reason,
  });
  const images = {
    get: async ({ page }: { readonly page: number }) => {
      drawn.push(page);
      return Uint8Array.of(0xff, 0xd8, page);
    },
  };
  const queries = new QueryServices({
    ...first,
    addresses,
    clock,
    meter: {
      recordQuery: (fact) => void recorded.push(fact),
      recordEmbed: (fact) => void modelled.push({ kind: 'embed', ...fact }),
      recordRerank: (fact) => void modelled.push({ kind: 'rerank', ...fact }),
    },
    semaphoreOf: () => unlimited,
    rerankModels: () => ['zerank-2'],
    rerankerDefault: null,
    embedModel: 'letters',
  });
  const files = new FileServices({ ...first, images, secrets: [secret] });
  const status = new StatusServices({
    ...first,
    clock,
    waitsFor: () => obstacle.reason,
    firstModel: 'letters',
    parsingIn: () => [],
    changeOf: () => null,
  });
  return {
    obstacle,
    first,
    collections,
    documents,
    queries,
    files,
    status,
    recorded,
    modelled,
    drawn,
    admission,
  };
}
export type UseCases = Awaited<ReturnType<typeof useCases>>;

/** Adds a text and waits until it is indexed. */
export function addText({ documents }: UseCases, path: string, text: string, fields: object = {}) {
  const content = { type: 'text' as const, text };
  const request = { collection_name: 'papers', path, content, wait: true, overwrite: true, ...fields };
  return documents.addDocument(callOf(), request);
}

export function sha256(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

export function tokenOf(address: string): string {
  return new URL(address).searchParams.get('token')!;
}
