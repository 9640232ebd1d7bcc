import { setTimeout as wait } from 'node:timers/promises';
import type { TestRandom } from '../storage/test-random.ts';
import { testEventMsMax } from '../timeouts.ts';
import type { CrashCollection, CrashModel } from './crash-model.ts';
import type { CrashDocument, ModelMetadata } from './documents.ts';
import type { MismatchReporter } from './mismatch-reporter.ts';
import type { ServerProcess } from './server.ts';

interface DocumentInfoReply {
  readonly path: string;
  readonly metadata: ModelMetadata;
  readonly index_status: string;
  readonly sha256: string;
  readonly size: number;
  readonly file_url: string;
  readonly error: string | null;
  readonly error_code: string | null;
}

/** Number of documents checked in full although they have not changed since the last check. */
const sampleMax = 6;

/** Compares a server with everything it has acknowledged. Uncertain outcomes are resolved by the check. */
export class ModelCheck {
  readonly #mismatches: MismatchReporter;
  readonly #server: ServerProcess;
  readonly #model: CrashModel;
  readonly #random: TestRandom;
  /** File URLs as of the previous check, by `folder path`. */
  readonly #fileUrls: Map<string, string>;

  constructor(parts: {
    mismatches: MismatchReporter;
    server: ServerProcess;
    model: CrashModel;
    random: TestRandom;
    fileUrls: Map<string, string>;
  }) {
    this.#mismatches = parts.mismatches;
    this.#server = parts.server;
    this.#model = parts.model;
    this.#random = parts.random;
    this.#fileUrls = parts.fileUrls;
  }

  async checkAll(): Promise<void> {
    await this.#waitUntilIdle({});
    const { body } = await this.#server.call('collections/get-collection-list', {});
    const names = new Set(body.collection_names as string[]);
    for (const collection of this.#model.collections.values()) {
      const exists = names.delete(collection.name);
      if (!collection.possibleExists.includes(exists))
        this.#mismatches.fail(`${collection.name}: exists is ${exists}`, {
          kind: exists ? 'resurrected' : 'lost',
        });
      if (exists) await this.#checkCollection(collection);
      else await this.#checkDeletedCollection(collection);
    }
    this.#mismatches.same([...names], [], 'no unexpected collection exists', { kind: 'resurrected' });
    await this.#checkRemovedTexts();
    this.#model.changedPaths.clear();
    this.#model.parserKills = 0;
  }

  /** Waits until no document and no model change is pending. */
  async #waitUntilIdle(scope: { collection_name?: string }): Promise<void> {
    const deadline = performance.now() + testEventMsMax;
    for (;;) {
      const { body } = await this.#server.call('status/get-status', scope);
      const pending = body.num_parsing_documents + body.num_indexing_documents;
      if (pending === 0 && body.model_changes === undefined) return;
      if (performance.now() > deadline) throw new Error(`documents stay pending: ${JSON.stringify(body)}`);
      await wait(50);
    }
  }

  async #checkDeletedCollection(collection: CrashCollection): Promise<void> {
    if (collection.possibleExists.length > 1) this.#model.removeCollection(collection);
    for (const key of [...this.#fileUrls.keys()].filter((known) => known.startsWith(`${collection.name} `))) {
      await this.#checkDeletedFileUrl(key);
    }
  }

  async #checkCollection(collection: CrashCollection): Promise<void> {
    collection.possibleExists = [true];
    await this.#checkEmbeddingModel(collection);
    const infos = await this.#retryCrashed(collection, await this.#listDocuments(collection));
    for (const [path, states] of collection.paths) {
      const info = infos.get(path);
      const settledState = states.find((state) => matchesState(state, info));
      if (settledState === undefined) {
        const expected = states.map((state) => state && { marker: state.marker, metadata: state.metadata });
        this.#mismatches.fail(`${collection.name} ${path} is in an invalid state`, {
          kind: states.some((state) => state !== null) ? 'lost' : 'resurrected',
          expected,
          info,
        });
        // Restores a known state, so that later checks are not affected.
        await this.#server.call('documents/delete-document', { collection_name: collection.name, path });
        collection.paths.delete(path);
        infos.delete(path);
        continue;
      }
      this.#model.markRemoved(collection, states, settledState);
      if (settledState === null) {
        collection.paths.delete(path);
        await this.#checkDeletedFileUrl(`${collection.name} ${path}`);
      } else collection.paths.set(path, [settledState]);
    }
    for (const path of infos.keys())
      if (!collection.paths.has(path))
        this.#mismatches.fail(`${collection.name} ${path} was never added`, { kind: 'resurrected' });
    await this.#checkContents(collection, infos);
    await this.#checkListing(collection);
    await this.#checkCounts(collection, infos);
  }

  /** After an acknowledged change, the collection must end up with the new model. */
  async #checkEmbeddingModel(collection: CrashCollection): Promise<void> {
    const scope = { collection_name: collection.name };
    await this.#waitUntilIdle(scope);
    const { body } = await this.#server.call('status/get-status', scope);
    const actual = body.embedding_model as string;
    if (!collection.possibleModels.includes(actual))
      this.#mismatches.fail(`${collection.name} has the model ${actual}`, {
        kind: 'lost',
        expected: collection.possibleModels,
      });
    collection.possibleModels = [actual];
    collection.isModelChanging = false;
  }

  async #listDocuments(collection: CrashCollection): Promise<Map<string, DocumentInfoReply>> {
    const infos = new Map<string, DocumentInfoReply>();
    const limit = 3 + this.#random.below(30);
    for (let after: string | undefined; ; ) {
      const body = { collection_name: collection.name, limit, path_gt: after };
      const reply = await this.#server.call('documents/get-document-info-list', body);
      const page = reply.body.documents as DocumentInfoReply[];
      if (page.length === 0) return infos;
      for (const info of page) infos.set(info.path, info);
      after = page.at(-1)!.path;
    }
  }

  /** A document fails if its parser process is killed twice; a retry must index it. */
  async #retryCrashed(
    collection: CrashCollection,
    infos: Map<string, DocumentInfoReply>,
  ): Promise<Map<string, DocumentInfoReply>> {
    if (this.#model.parserKills < 2) return infos;
    const crashed = [...infos.values()].filter((info) => info.error_code === 'crash');
    for (const { path } of crashed) {
      const body = { collection_name: collection.name, path, index_status: 'not_parsed' };
      await this.#server.call('documents/update-document', body);
    }
    await this.#waitUntilIdle({ collection_name: collection.name });
    return crashed.length === 0 ? infos : this.#listDocuments(collection);
  }

  /** Checks status, text, file and search of every changed document and of a sample of the others. */
  async #checkContents(
    collection: CrashCollection,
    infos: ReadonlyMap<string, DocumentInfoReply>,
  ): Promise<void> {
    let sample = sampleMax;
    for (const [path, [documentState]] of collection.paths) {
      const changed = this.#model.changedPaths.has(`${collection.name} ${path}`);
      if (documentState === null || documentState === undefined || (!changed && sample-- <= 0)) continue;
      const info = infos.get(path)!;
      const status = documentState.isUnreadable ? 'parsing_failed' : 'indexed';
      if (info.index_status !== status)
        this.#mismatches.fail(`${collection.name} ${path} is ${info.index_status}: ${info.error}`, {
          kind: 'lost',
        });
      if (documentState.isUnreadable && !info.error)
        this.#mismatches.fail(`${collection.name} ${path} failed without a reason`, { kind: 'lost' });
      await this.#checkContent(collection, path, documentState);
      await this.#checkFile(`${collection.name} ${path}`, info, documentState);
    }
  }

  async #checkContent(
    collection: CrashCollection,
    path: string,
    documentState: CrashDocument,
  ): Promise<void> {
    if (documentState.isUnreadable) {
      this.#model.removedTexts.push({ collection: collection.name, marker: documentState.marker });
      return;
    }
    const body = { collection_name: collection.name, path, include_content: true };
    const reply = await this.#server.call('documents/get-document-info', body);
    const content = reply.body.document.content as string;
    const whole =
      documentState.text === null ? content.includes(documentState.marker) : content === documentState.text;
    if (!whole) this.#mismatches.fail(`${collection.name} ${path} has lost text`, { kind: 'lost' });
    if (documentState.marker === '') return;
    const actual = await this.#model.findMarker(this.#server, collection.name, documentState.marker);
    if (actual.length !== 1 || actual[0] !== path)
      this.#mismatches.fail(
        `${collection.name} ${path} is found ${actual.length} times by ${documentState.marker}`,
        {
          kind: actual.length > 1 ? 'duplicated' : 'search',
          found: actual,
        },
      );
    const weights = this.#model.weightsFor(collection.name);
    const documents = { collection_name: collection.name, query: documentState.marker, k: 5, ...weights };
    const top = await this.#server.call('queries/top-documents', documents);
    const paths = (top.body.results as DocumentInfoReply[]).map((result) => result.path);
    if (paths[0] !== path || new Set(paths).size !== paths.length)
      this.#mismatches.fail(`${collection.name} ${path} is not the best document for its unique word`, {
        kind: 'search',
        paths,
      });
  }

  async #checkFile(key: string, info: DocumentInfoReply, documentState: CrashDocument): Promise<void> {
    const before = this.#fileUrls.get(key);
    const token = new URL(info.file_url).search;
    if (before !== undefined && before !== token) await this.#checkDeletedFileUrl(key);
    this.#fileUrls.set(key, token);
    const reply = await this.#server.request(`/v1/documents/get-document${token}`, {});
    if (reply.status !== 200 || Buffer.compare(reply.body, documentState.raw) !== 0)
      this.#mismatches.fail(`the file of ${key} differs from the upload (${reply.status})`, {
        kind: 'lost',
      });
  }

  /** The file URL of a deleted or replaced document must return 404. */
  async #checkDeletedFileUrl(key: string): Promise<void> {
    const token = this.#fileUrls.get(key);
    if (token === undefined) return;
    this.#fileUrls.delete(key);
    const reply = await this.#server.request(`/v1/documents/get-document${token}`, {});
    if (reply.status !== 404)
      this.#mismatches.fail(`the old address of ${key} is answered ${reply.status}`, { kind: 'resurrected' });
  }

  /** Search must return exactly the indexed documents, each once, with their latest metadata. */
  async #checkListing(collection: CrashCollection): Promise<void> {
    const body = { collection_name: collection.name, query: null, k: 2_048, include_metadata: true };
    const reply = await this.#server.call('queries/top-documents', body);
    const actual = (reply.body.results as DocumentInfoReply[]).map(({ path, metadata }) =>
      entry(path, metadata),
    );
    const expected = [...collection.paths].flatMap(([path, [documentState]]) =>
      documentState === null || documentState === undefined || documentState.isUnreadable
        ? []
        : [entry(path, documentState.metadata)],
    );
    const message = `${collection.name}: search finds exactly the indexed documents`;
    this.#mismatches.same(actual.sort(), expected.sort(), message, { kind: 'search' });
  }

  async #checkCounts(
    collection: CrashCollection,
    infos: ReadonlyMap<string, DocumentInfoReply>,
  ): Promise<void> {
    const { body } = await this.#server.call('status/get-status', { collection_name: collection.name });
    const indexed = [...infos.values()].filter((info) => info.index_status === 'indexed');
    let bytes = 0;
    for (const { path, size, sha256 } of indexed) {
      const isFile = collection.paths.get(path)?.[0]?.text === null;
      bytes += isFile ? await this.#textBytesOf(collection, path, sha256) : size;
    }
    const expected = {
      num_documents: infos.size,
      num_parsing_documents: 0,
      num_indexing_documents: 0,
      num_indexed_documents: indexed.length,
      num_failed_documents: infos.size - indexed.length,
      num_indexed_bytes: bytes,
      embedding_model: collection.possibleModels[0],
    };
    this.#mismatches.same(body, expected, `${collection.name}: the counts are exact`, { kind: 'search' });
  }

  /** Reads the text of a file once: the same file must have the same text in all rounds. */
  async #textBytesOf(collection: CrashCollection, path: string, sha256: string): Promise<number> {
    const known = this.#model.textBytes.get(sha256);
    if (known !== undefined) return known;
    const body = { collection_name: collection.name, path, include_content: true };
    const reply = await this.#server.call('documents/get-document-info', body);
    const bytes = Buffer.byteLength(reply.body.document.content as string);
    this.#model.textBytes.set(sha256, bytes);
    return bytes;
  }

  async #checkRemovedTexts(): Promise<void> {
    for (const { collection, marker } of this.#model.removedTexts.splice(0)) {
      if (this.#model.collections.get(collection)?.possibleExists[0] !== true) continue;
      const actual = await this.#model.findMarker(this.#server, collection, marker);
      if (actual.length > 0)
        this.#mismatches.fail(`${collection} ${actual[0]} exists after its deletion: ${marker}`, {
          kind: 'resurrected',
        });
    }
  }
}

function matchesState(state: CrashDocument | null, info: DocumentInfoReply | undefined): boolean {
  if (state === null || info === undefined) return state === null && info === undefined;
  return state.sha256 === info.sha256 && JSON.stringify(state.metadata) === JSON.stringify(info.metadata);
}

function entry(path: string, metadata: ModelMetadata): string {
  return `${path} ${JSON.stringify(metadata)}`;
}
