import { randomUUID } from 'node:crypto';
import type { Collection } from '../../src/storage/collections.ts';
import type { DocumentRecord } from '../../src/storage/documents.ts';
import type { Job } from '../../src/storage/jobs.ts';
import type { VersionRecord } from '../../src/storage/versions.ts';

export const someHash = 'ab'.repeat(32);

export function collection(fields: Partial<Collection> = {}): Collection {
  return {
    collectionId: randomUUID(),
    organizationId: randomUUID(),
    name: 'contracts',
    shards: 1,
    dimensions: 4,
    createdAt: 1_000,
    languages: [],
    ...fields,
  };
}

export function document(fields: Partial<DocumentRecord> = {}): DocumentRecord {
  return {
    collectionId: randomUUID(),
    path: 'a.txt',
    documentId: randomUUID(),
    version: 1,
    live: null,
    liveDocumentId: null,
    status: 'not_parsed',
    error: null,
    createdAt: 1_000,
    size: 3,
    numPages: null,
    contentKind: 'auto',
    contentType: 'text/plain',
    rawHash: someHash,
    metadata: {},
    attempts: 0,
    textBytes: 0,
    indexedBytes: 0,
    ...fields,
  };
}

export function version(fields: Partial<VersionRecord> = {}): VersionRecord {
  return {
    collectionId: randomUUID(),
    version: 1,
    documentId: randomUUID(),
    path: 'a.txt',
    metadata: {},
    shard: 0,
    contentType: 'text/plain',
    rawHash: someHash,
    hasImages: false,
    ...fields,
  };
}

export function job(fields: Partial<Job> = {}): Job {
  return {
    version: 1,
    organizationId: 'organization-a',
    collectionId: randomUUID(),
    path: 'a.txt',
    documentId: randomUUID(),
    step: 'parse',
    attempts: 0,
    notBefore: 0,
    createdAt: 1_000,
    ...fields,
  };
}
