import { tables, uuid } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { Table } from './table.ts';

export interface SecondFactor {
  /** Key of the one-time passwords, sealed. */
  readonly sealedSecret: Uint8Array;
  /** What else it is bound to; a record that is bound to something else is void. */
  readonly binding: string;
  /** Milliseconds since the epoch; null until a first code has confirmed it. */
  readonly enabledAt: number | null;
  /** Time step of the last code that was accepted: neither that one nor an earlier one is accepted again. */
  readonly lastStep: number;
  /** SHA-256 of the recovery codes that are left, lower-case hex. */
  readonly recoveryHashes: readonly string[];
}

const secondFactorsTable = new Table<readonly [userId: string], SecondFactor>(tables.secondFactors, [uuid]);

/** Second factors by user; the administrator's is stored under an id that no user has. */
export class SecondFactorRecords {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  get(userId: string): SecondFactor | undefined {
    return secondFactorsTable.get(this.#store, [userId]);
  }

  put(userId: string, secondFactor: SecondFactor): WriteOperation {
    return secondFactorsTable.put([userId], secondFactor);
  }

  delete(userId: string): WriteOperation {
    return secondFactorsTable.delete([userId]);
  }
}
