import type { QueryDefaults } from '../schemas/queries.ts';
import { tables, text, uuid } from './keys.ts';
import { RecordCache } from './record-cache.ts';
import type { Store, WriteOperation } from './store.ts';
import { Table } from './table.ts';

export interface Collection {
  readonly collectionId: string;
  readonly organizationId: string;
  /** Unique inside the organisation. */
  readonly name: string;
  readonly shards: number;
  /** Dimensions of the vectors the engine holds for this collection. */
  readonly dimensions: number;
  /** The model of its vectors; collections of the first builds remember none: theirs is the built-in one. */
  readonly model?: { readonly id: string; readonly version: string };
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly languages: readonly string[];
  /** What its queries ask unless they say otherwise. */
  readonly queryDefaults?: QueryDefaults;
  /** Absent until its model is changed for the first time; `dimensions` and `model` above are those in here. */
  readonly vectors?: VectorState;
}

/** Vectors of all documents of a collection, made by one model. */
export interface VectorSet {
  /** The vectors that a collection was made with are 0; `content.ts` says where those of each generation lie. */
  readonly generation: number;
  readonly dimensions: number;
  /** Null where a collection of the first builds does not remember it. */
  readonly model: { readonly id: string; readonly version: string } | null;
}

/** The name that stands for no model: the vectors come with documents and queries. No model may be called so. */
export const ownVectors = 'own';

export function hasOwnVectors({ model }: Pick<Collection, 'model'>): boolean {
  return model?.id === ownVectors;
}

export interface ModelVectorSet extends VectorSet {
  readonly model: { readonly id: string; readonly version: string };
}

/**
 * Which vectors search answers from, and which are made to take their place. A record of its own, because others write
 * the collection's: with their writes an older state would come back.
 */
export interface VectorState extends VectorSet {
  /** What is being made; of the other parity, so that both are stored side by side. */
  readonly next: ModelVectorSet | null;
  /** The greatest generation that was ever begun. */
  readonly last: number;
  /** Vectors that nobody answers from may be stored beside these. */
  readonly hasRemains: boolean;
}

/** The vectors that search answers from. */
export function getVectorState({ dimensions, model, vectors }: Collection): VectorState {
  if (vectors !== undefined) return vectors;
  return { generation: 0, dimensions, model: model ?? null, next: null, last: 0, hasRemains: false };
}

export function getGeneration({ vectors }: Collection): number {
  return vectors?.generation ?? 0;
}

/** Vectors of another model, or of another version, are to take the place of these. */
export function startVectorChange(
  state: VectorState,
  { id, version, dimensions }: { readonly id: string; readonly version: string; readonly dimensions: number },
): VectorState {
  const hasOtherParity = (state.last + 1 - state.generation) % 2 === 1;
  const generation = state.last + (hasOtherParity ? 1 : 2);
  return { ...state, next: { generation, dimensions, model: { id, version } }, last: generation };
}

/** What was being made is not wanted any more. */
export function cancelVectorChange(state: VectorState): VectorState {
  return { ...state, next: null, hasRemains: true };
}

/** Search answers from what was made. */
export function completeVectorChange(state: VectorState, next: VectorSet): VectorState {
  return { ...next, next: null, last: state.last, hasRemains: true };
}

/** A collection whose deletion was acknowledged and whose keys are not all gone yet. */
export interface Tombstone {
  readonly collectionId: string;
  readonly organizationId: string;
  readonly deletedAt: number;
}

const collectionsTable = new Table<readonly [organizationId: string, name: string], Collection>(
  tables.collections,
  [uuid, text],
);
const idsTable = new Table<readonly [collectionId: string], readonly [organizationId: string, name: string]>(
  tables.collectionId,
  [uuid],
);
const vectorStatesTable = new Table<readonly [collectionId: string], VectorState>(tables.vectorStates, [
  uuid,
]);
/** A record of its own, as the vectors' state is. */
const queryDefaultsTable = new Table<
  readonly [collectionId: string],
  { readonly queryDefaults: QueryDefaults | null }
>(tables.queryDefaults, [uuid]);
const tombstonesTable = new Table<readonly [collectionId: string], Tombstone>(tables.tombstones, [uuid]);

/** Collections by organisation and name, and by id. */
export class Collections {
  readonly #store: Store;
  readonly #cache: RecordCache<Collection>;
  readonly #keyCache: RecordCache<readonly [organizationId: string, name: string]>;

  constructor(store: Store) {
    this.#store = store;
    this.#cache = new RecordCache(store, tables.collections, tables.vectorStates, tables.queryDefaults);
    this.#keyCache = new RecordCache(store, tables.collectionId);
  }

  find(organizationId: string, name: string): Collection | undefined {
    return this.#cache.get(`${organizationId} ${name}`, () => {
      const stored = collectionsTable.get(this.#store, [organizationId, name]);
      return stored === undefined ? undefined : this.#withState(stored);
    });
  }

  findById(collectionId: string): Collection | undefined {
    const key = this.#keyCache.get(collectionId, () => idsTable.get(this.#store, [collectionId]));
    return key === undefined ? undefined : this.find(key[0], key[1]);
  }

  /** The collections of one organisation, by name in the order of UTF-8 bytes. */
  async list(organizationId: string): Promise<Collection[]> {
    const found: Collection[] = [];
    for await (const { value } of collectionsTable.range(this.#store, [organizationId]))
      found.push(this.#withState(value));
    return found;
  }

  /** Every collection of the installation. */
  async listAll(): Promise<Collection[]> {
    const found: Collection[] = [];
    for await (const { value } of collectionsTable.range(this.#store, [])) found.push(this.#withState(value));
    return found;
  }

  /** Refused with `ExpectationFailed` when the name is taken at the moment of the write. */
  create(collection: Collection): WriteOperation[] {
    const { organizationId, name, collectionId } = collection;
    return [
      collectionsTable.expect(
        [organizationId, name],
        (known) => known === undefined,
        'the collection name is free',
      ),
      collectionsTable.put([organizationId, name], collection),
      idsTable.put([collectionId], [organizationId, name]),
    ];
  }

  /** Replaces what may change (languages); name and id stay, and the two below change the rest. */
  update({ vectors: _, ...collection }: Collection): WriteOperation[] {
    return [
      this.expectExists(collection.collectionId),
      collectionsTable.put([collection.organizationId, collection.name], collection),
    ];
  }

  /** What its queries ask from now on unless they say otherwise; null: nothing. */
  putQueryDefaults(collectionId: string, queryDefaults: QueryDefaults | null): WriteOperation[] {
    return [this.expectExists(collectionId), queryDefaultsTable.put([collectionId], { queryDefaults })];
  }

  /** Refused with `ExpectationFailed` when the collection is gone or `before` is not what is stored any more. */
  putVectors(collectionId: string, before: VectorState, after: VectorState): WriteOperation[] {
    return [
      this.expectExists(collectionId),
      vectorStatesTable.expect(
        [collectionId],
        (known) => (known === undefined ? before.last === 0 : isSameState(known, before)),
        'the vectors of the collection are as they were',
      ),
      vectorStatesTable.put([collectionId], after),
    ];
  }

  /**
   * Frees the name at once and marks the rest for the sweep. Refused when somebody else deleted it first.
   * `deletedAt`: milliseconds since the epoch.
   */
  delete(collection: Collection, deletedAt: number): WriteOperation[] {
    const { organizationId, name, collectionId } = collection;
    return [
      this.expectExists(collectionId),
      collectionsTable.delete([organizationId, name]),
      idsTable.delete([collectionId]),
      tombstonesTable.put([collectionId], { collectionId, organizationId, deletedAt }),
    ];
  }

  /** For every write that adds to a collection: refused once the collection is deleted, so nothing comes back. */
  expectExists(collectionId: string): WriteOperation {
    return idsTable.expect([collectionId], (known) => known !== undefined, 'the collection exists');
  }

  async listTombstones(): Promise<Tombstone[]> {
    const found: Tombstone[] = [];
    for await (const { value } of tombstonesTable.range(this.#store, [])) found.push(value);
    return found;
  }

  /** The last step of a sweep. */
  deleteTombstone(collectionId: string): WriteOperation[] {
    return [
      vectorStatesTable.delete([collectionId]),
      queryDefaultsTable.delete([collectionId]),
      tombstonesTable.delete([collectionId]),
    ];
  }

  #withState(stored: Collection): Collection {
    const collection = this.#withDefaults(stored);
    const vectors = vectorStatesTable.get(this.#store, [collection.collectionId]);
    if (vectors === undefined) return collection;
    const { model: _, ...rest } = collection;
    const { dimensions, model } = vectors;
    return { ...rest, ...(model === null ? {} : { model }), dimensions, vectors };
  }

  #withDefaults(collection: Collection): Collection {
    const changed = queryDefaultsTable.get(this.#store, [collection.collectionId]);
    if (changed === undefined) return collection;
    const { queryDefaults: _, ...rest } = collection;
    const { queryDefaults } = changed;
    return queryDefaults === null ? rest : { ...rest, queryDefaults };
  }
}

function isSameState(one: VectorState, other: VectorState): boolean {
  return (
    one.generation === other.generation &&
    one.last === other.last &&
    one.next?.generation === other.next?.generation &&
    one.hasRemains === other.hasRemains
  );
}
