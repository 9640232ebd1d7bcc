import { assertDefined } from '../core/assert.ts';
import { getGeneration } from '../storage/collections.ts';
import { CombinedIndex } from './combined-index.ts';
import type { SearchMember } from './query-request.ts';
import type { SearchComponents, SearchReader } from './search-components.ts';

/**
 * Returns components that search several collections like one. The index and the collection that a stage asks for are
 * ignored: version numbers are unique in the whole installation, so each row is read from the collection in which it was
 * found. Create them for each request.
 */
export function combineCollections(
  components: SearchComponents,
  members: readonly SearchMember[],
): SearchComponents {
  const collectionOfVersion = new Map<number, string>();
  const index = new CombinedIndex({
    members: members.map(({ collection, filter }) => ({
      index: components.getIndex(collection.collectionId, getGeneration(collection)),
      collectionId: collection.collectionId,
      filter,
    })),
    clock: components.clock,
    onFound: (collectionId, versions) => {
      for (const version of versions) collectionOfVersion.set(version, collectionId);
    },
  });
  const reader = new CombinedReader(components.reader, {
    collectionOf: (version) =>
      assertDefined(collectionOfVersion.get(version), 'a search has found the version'),
    generationOf: new Map(
      members.map(({ collection }) => [collection.collectionId, getGeneration(collection)]),
    ),
  });
  const findExpired = async () => {
    const lists: Float64Array[] = [];
    for (const { collection } of members) lists.push(await components.findExpired(collection.collectionId));
    return Float64Array.from(lists.flatMap((list) => [...list])).sort();
  };
  return { ...components, getIndex: () => index, reader, findExpired };
}

interface CombinedReaderOptions {
  readonly collectionOf: (version: number) => string;
  /** Generation of the vectors of each collection. */
  readonly generationOf: ReadonlyMap<string, number>;
}

/** Reads the rows of several collections. */
class CombinedReader implements SearchReader {
  readonly #reader: SearchReader;
  readonly #options: CombinedReaderOptions;

  constructor(reader: SearchReader, options: CombinedReaderOptions) {
    this.#reader = reader;
    this.#options = options;
  }

  readRecords(_collectionId: string, versions: readonly number[]): ReturnType<SearchReader['readRecords']> {
    return this.#readEach(
      versions,
      (version) => version,
      (id, own) => this.#reader.readRecords(id, own),
    );
  }

  readRows(
    _collectionId: string,
    locations: Parameters<SearchReader['readRows']>[1],
  ): ReturnType<SearchReader['readRows']> {
    return this.#readEach(
      locations,
      ({ version }) => version,
      (id, own) => this.#reader.readRows(id, own),
    );
  }

  readFineChunks(
    _collectionId: string,
    locations: Parameters<SearchReader['readFineChunks']>[1],
  ): ReturnType<SearchReader['readFineChunks']> {
    return this.#readEach(
      locations,
      ({ version }) => version,
      (id, own) => this.#reader.readFineChunks(id, own, this.#options.generationOf.get(id)),
    );
  }

  readLayout(...args: Parameters<SearchReader['readLayout']>): ReturnType<SearchReader['readLayout']> {
    return this.#reader.readLayout(...args);
  }

  readPage(...args: Parameters<SearchReader['readPage']>): ReturnType<SearchReader['readPage']> {
    return this.#reader.readPage(...args);
  }

  readPageChunk(
    ...args: Parameters<SearchReader['readPageChunk']>
  ): ReturnType<SearchReader['readPageChunk']> {
    return this.#reader.readPageChunk(...args);
  }

  /** Reads the items of each collection together, and returns the results in the order of the items. */
  #readEach<Item, Result>(
    items: readonly Item[],
    versionOf: (item: Item) => number,
    read: (collectionId: string, items: readonly Item[]) => readonly Result[],
  ): Result[] {
    const positions = new Map<string, number[]>();
    for (const [i, item] of items.entries()) {
      const collectionId = this.#options.collectionOf(versionOf(item));
      const own = positions.get(collectionId) ?? [];
      positions.set(collectionId, own);
      own.push(i);
    }
    const results = new Array<Result>(items.length);
    for (const [collectionId, own] of positions) {
      const found = read(
        collectionId,
        own.map((i) => items[i]!),
      );
      for (const [at, i] of own.entries()) results[i] = found[at]!;
    }
    return results;
  }
}
