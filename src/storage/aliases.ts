import { tables, text, uuid } from './keys.ts';
import { RecordCache } from './record-cache.ts';
import type { Store, WriteOperation } from './store.ts';
import { Table } from './table.ts';

/** Another name of a collection; unique among the names and aliases of the organization. */
export interface Alias {
  readonly organizationId: string;
  readonly name: string;
  readonly collectionId: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

const aliasesTable = new Table<readonly [organizationId: string, name: string], Alias>(tables.aliases, [
  uuid,
  text,
]);

/** Aliases by organization and name. */
export class Aliases {
  readonly #store: Store;
  readonly #cache: RecordCache<Alias>;

  constructor(store: Store) {
    this.#store = store;
    this.#cache = new RecordCache(store, tables.aliases);
  }

  find(organizationId: string, name: string): Alias | undefined {
    return this.#cache.get(`${organizationId} ${name}`, () =>
      aliasesTable.get(this.#store, [organizationId, name]),
    );
  }

  /** Returns the aliases of an organization by name, in the order of UTF-8 bytes. */
  async list(organizationId: string): Promise<Alias[]> {
    const found: Alias[] = [];
    for await (const { value } of aliasesTable.range(this.#store, [organizationId])) found.push(value);
    return found;
  }

  put(alias: Alias): WriteOperation {
    return aliasesTable.put([alias.organizationId, alias.name], alias);
  }

  delete({ organizationId, name }: Pick<Alias, 'organizationId' | 'name'>): WriteOperation {
    return aliasesTable.delete([organizationId, name]);
  }
}
