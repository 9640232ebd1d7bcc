import type { QueryDefaults } from '../schemas/queries.ts';
import { tables, text, uuid } from './keys.ts';
import { Remembered } from './remembered.ts';
import type { Operation, Store } from './store.ts';
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
}

/** A collection whose deletion was acknowledged and whose keys are not all gone yet. */
export interface Tombstone {
  readonly collectionId: string;
  readonly organizationId: string;
  readonly deletedAt: number;
}

const collections = new Table<readonly [organizationId: string, name: string], Collection>(
  tables.collections,
  [uuid, text],
);
const ids = new Table<readonly [collectionId: string], readonly [organizationId: string, name: string]>(
  tables.collectionId,
  [uuid],
);
const tombstones = new Table<readonly [collectionId: string], Tombstone>(tables.tombstones, [uuid]);

/** Collections by organisation and name, and by id. */
export class Collections {
  readonly #store: Store;
  readonly #remembered: Remembered<Collection>;
  readonly #places: Remembered<readonly [organizationId: string, name: string]>;

  constructor(store: Store) {
    this.#store = store;
    this.#remembered = new Remembered(store, tables.collections);
    this.#places = new Remembered(store, tables.collectionId);
  }

  get(organizationId: string, name: string): Collection | undefined {
    return this.#remembered.get(`${organizationId} ${name}`, () =>
      collections.get(this.#store, [organizationId, name]),
    );
  }

  byId(collectionId: string): Collection | undefined {
    const place = this.#places.get(collectionId, () => ids.get(this.#store, [collectionId]));
    return place === undefined ? undefined : this.get(place[0], place[1]);
  }

  /** The collections of one organisation, by name in the order of UTF-8 bytes. */
  async list(organizationId: string): Promise<Collection[]> {
    const found: Collection[] = [];
    for await (const { value } of collections.range(this.#store, [organizationId])) found.push(value);
    return found;
  }

  /** Every collection of the installation. */
  async all(): Promise<Collection[]> {
    const found: Collection[] = [];
    for await (const { value } of collections.range(this.#store, [])) found.push(value);
    return found;
  }

  /** Refused with `ExpectationFailed` when the name is taken at the moment of the write. */
  create(collection: Collection): Operation[] {
    const { organizationId, name, collectionId } = collection;
    return [
      collections.expect(
        [organizationId, name],
        (known) => known === undefined,
        'the collection name is free',
      ),
      collections.put([organizationId, name], collection),
      ids.put([collectionId], [organizationId, name]),
    ];
  }

  /** Replaces what may change (languages); name and id stay. */
  update(collection: Collection): Operation[] {
    return [
      this.expectExists(collection.collectionId),
      collections.put([collection.organizationId, collection.name], collection),
    ];
  }

  /**
   * Frees the name at once and marks the rest for the sweep. Refused when somebody else deleted it first.
   * `deletedAt`: milliseconds since the epoch.
   */
  delete(collection: Collection, deletedAt: number): Operation[] {
    const { organizationId, name, collectionId } = collection;
    return [
      this.expectExists(collectionId),
      collections.delete([organizationId, name]),
      ids.delete([collectionId]),
      tombstones.put([collectionId], { collectionId, organizationId, deletedAt }),
    ];
  }

  /** For every write that adds to a collection: refused once the collection is deleted, so nothing comes back. */
  expectExists(collectionId: string): Operation {
    return ids.expect([collectionId], (known) => known !== undefined, 'the collection exists');
  }

  async tombstones(): Promise<Tombstone[]> {
    const found: Tombstone[] = [];
    for await (const { value } of tombstones.range(this.#store, [])) found.push(value);
    return found;
  }

  /** The last step of a sweep. */
  forget(collectionId: string): Operation {
    return tombstones.delete([collectionId]);
  }
}
