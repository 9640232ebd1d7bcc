import type { ModelReference, ModelVersion } from '../core/model-reference.ts';
import { Aliases } from './aliases.ts';
import { type ChangeableSettings, replaceSettings, type StoredSettings } from './collection-settings.ts';
import { tables, text, uuid } from './keys.ts';
import { RecordCache } from './record-cache.ts';
import type { Store, WriteOperation } from './store.ts';
import { Table } from './table.ts';

export interface Collection extends ChangeableSettings {
  readonly collectionId: string;
  readonly organizationId: string;
  /** Unique in the organization. */
  readonly name: string;
  readonly shards: number;
  /** Dimensions of the vectors the engine holds for this collection. */
  readonly dimensions: number;
  /** Model of its vectors; absent in collections of the first builds, which use the built-in model. */
  readonly model?: ModelReference;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly languages: readonly string[];
  /**
   * Absent until its model is changed for the first time; `dimensions` and `model` above are taken from here.
   */
  readonly vectors?: VectorState;
}

/** Vectors of all documents of a collection, computed by one model. */
export interface VectorSet {
  /** 0 for the initial vectors of a collection; `content.ts` defines where each generation is stored. */
  readonly generation: number;
  readonly dimensions: number;
  /** Null if a collection of the first builds does not record it. */
  readonly model: ModelReference | null;
}

/** Reserved model name for vectors supplied with documents and queries. No model may have this name. */
export const ownVectors = 'own';

export function hasOwnVectors({ model }: Pick<Collection, 'model'>): boolean {
  return model?.id === ownVectors;
}

export interface ModelVectorSet extends VectorSet {
  readonly model: ModelReference;
}

/**
 * Current vectors and those that are to replace them. A separate record, because other writers write the
 * collection record and would restore an older state.
 */
export interface VectorState extends VectorSet {
  /** Vectors being computed; their generation has the other parity, so that both are stored side by side. */
  readonly next: ModelVectorSet | null;
  /** Highest generation ever started. */
  readonly last: number;
  /** Whether unused vectors may be stored in addition to these. */
  readonly hasRemains: boolean;
}

/** Returns the vector state, with defaults for a collection that never changed its model. */
export function getVectorState({ dimensions, model, vectors }: Collection): VectorState {
  if (vectors !== undefined) return vectors;
  return { generation: 0, dimensions, model: model ?? null, next: null, last: 0, hasRemains: false };
}

export function getGeneration({ vectors }: Collection): number {
  return vectors?.generation ?? 0;
}

/** Returns the state after starting to replace the vectors by those of another model or version. */
export function startVectorChange(
  state: VectorState,
  { id, version, dimensions }: ModelVersion,
): VectorState {
  const hasOtherParity = (state.last + 1 - state.generation) % 2 === 1;
  const generation = state.last + (hasOtherParity ? 1 : 2);
  return { ...state, next: { generation, dimensions, model: { id, version } }, last: generation };
}

/** Returns the state after canceling a replacement. */
export function cancelVectorChange(state: VectorState): VectorState {
  return { ...state, next: null, hasRemains: true };
}

/** Returns the state after promoting a replacement. */
export function completeVectorChange(state: VectorState, next: VectorSet): VectorState {
  return { ...next, next: null, last: state.last, hasRemains: true };
}

/** A collection whose deletion was acknowledged and whose data are not completely deleted yet. */
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
/** A separate record for the same reason as the vector state. */
const settingsTable = new Table<readonly [collectionId: string], StoredSettings>(tables.queryDefaults, [
  uuid,
]);
const tombstonesTable = new Table<readonly [collectionId: string], Tombstone>(tables.tombstones, [uuid]);

/** Collections by organization and name, and by id. */
export class Collections {
  readonly aliases: Aliases;
  readonly #store: Store;
  readonly #cache: RecordCache<Collection>;
  readonly #keyCache: RecordCache<readonly [organizationId: string, name: string]>;

  constructor(store: Store) {
    this.aliases = new Aliases(store);
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

  /** Returns the collection with this name or alias. */
  resolve(organizationId: string, name: string): Collection | undefined {
    const found = this.find(organizationId, name);
    if (found !== undefined) return found;
    const alias = this.aliases.find(organizationId, name);
    return alias === undefined ? undefined : this.findById(alias.collectionId);
  }

  findById(collectionId: string): Collection | undefined {
    const key = this.#keyCache.get(collectionId, () => idsTable.get(this.#store, [collectionId]));
    return key === undefined ? undefined : this.find(key[0], key[1]);
  }

  /** Returns the collections of an organization by name, in the order of UTF-8 bytes. */
  async list(organizationId: string): Promise<Collection[]> {
    const found: Collection[] = [];
    for await (const { value } of collectionsTable.range(this.#store, [organizationId]))
      found.push(this.#withState(value));
    return found;
  }

  /** Returns all collections of the installation. */
  async listAll(): Promise<Collection[]> {
    const found: Collection[] = [];
    for await (const { value } of collectionsTable.range(this.#store, [])) found.push(this.#withState(value));
    return found;
  }

  /** Errors: `ExpectationFailedError` if the name is taken when the write is applied. */
  create({ vectors, ...collection }: Collection): WriteOperation[] {
    const { organizationId, name, collectionId } = collection;
    return [
      ...(vectors === undefined ? [] : [vectorStatesTable.put([collectionId], vectors)]),
      collectionsTable.expect(
        [organizationId, name],
        (known) => known === undefined,
        'the collection name is unused',
      ),
      collectionsTable.put([organizationId, name], collection),
      idsTable.put([collectionId], [organizationId, name]),
    ];
  }

  /**
   * Replaces the languages. The id is immutable; the methods below change the rest. Errors:
   * `ExpectationFailedError` if the collection was deleted or renamed.
   */
  update({ vectors: _, ...collection }: Collection): WriteOperation[] {
    const { collectionId, organizationId, name } = collection;
    return [
      idsTable.expect([collectionId], (known) => known?.[1] === name, 'the collection exists under its name'),
      collectionsTable.put([organizationId, name], collection),
    ];
  }

  /**
   * Changes the name. Errors: `ExpectationFailedError` if the collection was deleted or changed meanwhile, or the
   * new name is taken.
   */
  rename({ vectors: _, ...collection }: Collection, newName: string): WriteOperation[] {
    const { collectionId, organizationId, name, languages } = collection;
    return [
      collectionsTable.expect(
        [organizationId, name],
        (known) => known?.collectionId === collectionId && known.languages.length === languages.length,
        'the collection is unchanged',
      ),
      collectionsTable.expect(
        [organizationId, newName],
        (known) => known === undefined,
        'the new collection name is unused',
      ),
      collectionsTable.delete([organizationId, name]),
      collectionsTable.put([organizationId, newName], { ...collection, name: newName }),
      idsTable.put([collectionId], [organizationId, newName]),
    ];
  }

  /** Replaces all settings of a collection. */
  putSettings(collectionId: string, settings: ChangeableSettings): WriteOperation[] {
    return [
      this.expectExists(collectionId),
      settingsTable.put([collectionId], { ...settings, queryDefaults: settings.queryDefaults ?? null }),
    ];
  }

  /** Errors: `ExpectationFailedError` if the collection was deleted or its state is no longer `before`. */
  putVectors(collectionId: string, before: VectorState, after: VectorState): WriteOperation[] {
    return [
      this.expectExists(collectionId),
      vectorStatesTable.expect(
        [collectionId],
        (known) => (known === undefined ? before.last === 0 : isSameState(known, before)),
        'the vector state is unchanged',
      ),
      vectorStatesTable.put([collectionId], after),
    ];
  }

  /**
   * Frees the name at once and leaves a tombstone for the sweep. Errors: `ExpectationFailedError` if it is
   * already deleted. `deletedAt`: milliseconds since the epoch.
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

  /**
   * Must be in every write that adds to a collection: rejects it after the collection is deleted, so that no
   * data reappear.
   */
  expectExists(collectionId: string): WriteOperation {
    return idsTable.expect([collectionId], (known) => known !== undefined, 'the collection exists');
  }

  async listTombstones(): Promise<Tombstone[]> {
    const found: Tombstone[] = [];
    for await (const { value } of tombstonesTable.range(this.#store, [])) found.push(value);
    return found;
  }

  /** Deletes the tombstone and related records: the last step of a sweep. */
  deleteTombstone(collectionId: string): WriteOperation[] {
    return [
      vectorStatesTable.delete([collectionId]),
      settingsTable.delete([collectionId]),
      tombstonesTable.delete([collectionId]),
    ];
  }

  #withState(stored: Collection): Collection {
    const collection = this.#withSettings(stored);
    const vectors = vectorStatesTable.get(this.#store, [collection.collectionId]);
    if (vectors === undefined) return collection;
    const { model: _, ...rest } = collection;
    const { dimensions, model } = vectors;
    return { ...rest, ...(model === null ? {} : { model }), dimensions, vectors };
  }

  #withSettings(collection: Collection): Collection {
    const changed = settingsTable.get(this.#store, [collection.collectionId]);
    return changed === undefined ? collection : replaceSettings(collection, changed);
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
