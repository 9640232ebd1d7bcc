import { tables, uuid } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { Table } from './table.ts';

export interface SecondFactor {
  /** Key of the one-time passwords, sealed. */
  readonly sealedSecret: Uint8Array;
  /** Additional value that the record is bound to; a record with another binding is invalid. */
  readonly binding: string;
  /** Milliseconds since the epoch; null until confirmed by a first code. */
  readonly enabledAt: number | null;
  /** Time step of the last accepted code: neither it nor an earlier one is accepted again. */
  readonly lastStep: number;
  /** SHA-256 of the unused recovery codes, lower-case hex. */
  readonly recoveryHashes: readonly string[];
}

const secondFactorsTable = new Table<readonly [userId: string], SecondFactor>(tables.secondFactors, [uuid]);

/** Second factors by user; that of the administrator has an id that no user has. */
export class SecondFactorRecords {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  get(userId: string): SecondFactor | undefined {
    return secondFactorsTable.get(this.#store, [userId]);
  }

  async listAll(): Promise<{ readonly userId: string; readonly secondFactor: SecondFactor }[]> {
    const found: { readonly userId: string; readonly secondFactor: SecondFactor }[] = [];
    for await (const { key, value } of secondFactorsTable.range(this.#store, []))
      found.push({ userId: key[0], secondFactor: value });
    return found;
  }

  put(userId: string, secondFactor: SecondFactor): WriteOperation {
    return secondFactorsTable.put([userId], secondFactor);
  }

  delete(userId: string): WriteOperation {
    return secondFactorsTable.delete([userId]);
  }
}
