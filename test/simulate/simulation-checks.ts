import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { defaultControl } from '../../src/search/query-request.ts';
import { readDocumentText } from '../../src/services/document-text.ts';
import { type Collection, getGeneration } from '../../src/storage/collections.ts';
import type { DocumentRecord } from '../../src/storage/documents.ts';
import { hash, tables, text, uuid } from '../../src/storage/keys.ts';
import type { Store } from '../../src/storage/store.ts';
import { cancellationTokenWith } from '../core/cancellation-token.ts';
import type { Test } from '../support/tap.ts';
import type { ServerComponents } from './server-components.ts';
import type { CollectionModel, DocumentState, SimulationModel } from './simulation-model.ts';

/** Components of a running simulation, and the expected contents of its store. */
export interface SimulationContext {
  readonly t: Test;
  readonly components: ServerComponents;
  readonly expected: SimulationModel;
  readonly store: Store;
  readonly folder: string;
}

/** Compares a collection with its model; returns the records of its documents. */
export async function checkCollection(
  context: SimulationContext,
  model: CollectionModel,
  collection: Collection,
): Promise<DocumentRecord[]> {
  const { t, components, expected } = context;
  const { documents, counts, indexes } = components;
  const { collectionId } = collection;
  const records: DocumentRecord[] = [];
  for await (const record of documents.list(collectionId)) records.push(record);
  const byPath = new Map(records.map((record) => [record.path, record]));
  for (const [path, [documentState]] of model.paths) {
    const record = byPath.get(path);
    if (record !== undefined && documentState !== null && documentState !== undefined)
      await checkDocument(context, collection, documentState, record);
  }
  const unexpectedPaths = records.filter(({ path }) => !model.paths.has(path)).map(({ path }) => path);
  const live = records.flatMap((record) => record.live ?? []);
  const index = indexes.get(collectionId);
  const recount = await counts.recount(collectionId);
  if (unexpectedPaths.length > 0) t.fail(`${model.name} ${unexpectedPaths} appeared unexpectedly`);
  t.same([...(await index.list(null, 1_000))].sort(), live.sort(), 'search returns the live versions');
  t.equal(index.count(null), live.length, 'each version is found once');
  t.same(counts.get(collectionId), recount, 'the counts are exact');
  for (const marker of expected.removedMarkers) {
    const found = await findPaths(components, collection, marker);
    if (found.length > 0) t.fail(`${model.name} ${found}: ${marker} reappeared`);
  }
  return records;
}

async function checkDocument(
  { t, components }: SimulationContext,
  collection: Collection,
  documentState: DocumentState,
  record: DocumentRecord,
): Promise<void> {
  const { contents, versions, collections } = components;
  const { path, status, version, live, documentId } = record;
  const expectedStatus = documentState.parseResult === 'read' ? 'indexed' : 'parsing_failed';
  if (status !== expectedStatus) t.fail(`${path} is ${status} instead of ${expectedStatus}`, { record });
  if (live !== (status === 'indexed' ? version : null)) t.fail(`${path}: live is ${live}`, { record });
  if (status !== 'indexed' && record.error === null) t.fail(`${path} failed without a reason`);
  if (versions.get(collection.collectionId, version)?.documentId !== documentId)
    t.fail(`${path} has another version record`);
  if (status !== 'indexed') return;
  if (!contents.blocks.hasVectors(documentId, getGeneration(collections.findById(collection.collectionId)!)))
    t.fail(`${path} has no vectors of its collection's model`);
  const text = await readDocumentText(contents, documentId);
  if ([...(text ?? [])].join('') !== documentState.text) t.fail(`${path} lost text`);
  const found = await findPaths(components, collection, documentState.marker);
  if (found.join() !== path) t.fail(`${path} is found as [${found}] by ${documentState.marker}`);
}

/** When all work has settled and garbage is collected, the store holds only data of the existing documents. */
export async function checkNoOrphans(
  { t, components, store, folder }: SimulationContext,
  records: readonly DocumentRecord[],
): Promise<void> {
  const files = records.filter(({ contentKind }) => contentKind === 'auto');
  const parsed = records.filter(({ status }) => status === 'indexed');
  const collections = await components.collections.listAll();
  const nothing: readonly string[] = [];
  const expectedKeys: readonly (readonly [
    keyof typeof tables,
    (key: Uint8Array) => string,
    readonly string[],
  ])[] = [
    ['content', (key) => uuid.decode(key, 1)[0], parsed.map(({ documentId }) => documentId)],
    ['documentId', (key) => uuid.decode(key, 1)[0], records.map(({ documentId }) => documentId)],
    [
      'versions',
      (key) => String(Buffer.from(key).readBigUInt64BE(17)),
      records.map(({ version }) => String(version)),
    ],
    [
      'live',
      (key) => String(Buffer.from(key).readBigUInt64BE(21)),
      parsed.map(({ version }) => String(version)),
    ],
    ['documents', (key) => text.decode(key, 17)[0], records.map(({ path }) => path)],
    ['blobReferences', (key) => hash.decode(key, 1)[0], files.map(({ rawHash }) => rawHash)],
    ['jobs', () => 'a job', nothing],
    ['garbage', () => 'garbage', nothing],
    ['changes', () => 'a change', nothing],
    ['tombstones', (key) => uuid.decode(key, 1)[0], nothing],
    ['collectionId', (key) => uuid.decode(key, 1)[0], collections.map(({ collectionId }) => collectionId)],
  ];
  for (const [table, nameOf, expectedNames] of expectedKeys) {
    const found = new Set<string>();
    const range = { gte: Uint8Array.of(tables[table]), lt: Uint8Array.of(tables[table] + 1) };
    for await (const { key } of store.range(range)) found.add(nameOf(key));
    t.same([...found].sort(), [...new Set(expectedNames)].sort(), `no data remains in ${table}`);
  }
  const blobs = readdirSync(join(folder, 'blobs'), { recursive: true, encoding: 'utf8' });
  const keptState = blobs.map((name) => name.slice(-64)).filter((name) => /^[0-9a-f]{64}$/.test(name));
  t.same(keptState.sort(), files.map(({ rawHash }) => rawHash).sort(), 'no orphaned files');
  const models = readdirSync(join(folder, 'index'));
  t.same(models.sort(), collections.map((collection) => folderOf(collection)).sort(), 'no orphaned shards');
}

/** Paths of the documents whose text contains the query, as search finds them. */
export async function findPaths(
  { search, collections }: ServerComponents,
  collection: Collection,
  query: string,
): Promise<string[]> {
  const found = await search.searchSnippets({
    collection: collections.findById(collection.collectionId) ?? collection,
    query,
    k: 100,
    filter: null,
    reranker: null,
    isWide: false,
    deadlineMs: 60_000,
    yieldToEventLoop: () => null,
    caller: cancellationTokenWith(),
    explain: false,
    control: defaultControl,
  });
  return found.hits.filter((hit) => hit.snippet.text.includes(query)).map((hit) => hit.version.path);
}

function folderOf(collection: Collection): string {
  const generation = getGeneration(collection);
  return generation === 0 ? collection.collectionId : `${collection.collectionId}.${generation}`;
}
