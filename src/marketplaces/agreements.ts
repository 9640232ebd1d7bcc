import { Mutex } from '../core/async/mutex.ts';
import {
  type MarketplaceAgreement,
  type MarketplaceOffer,
  MarketplaceRecords,
  subjectOf,
} from '../storage/marketplaces.ts';
import type { Store, WriteOperation } from '../storage/store.ts';

/** New state of an agreement, and operations to be written with it. */
export interface AgreementChange {
  readonly after: MarketplaceAgreement;
  readonly extraOperations?: readonly WriteOperation[];
}

/** Agreements of all organizations. Changes run one after another, each based on the previous one. */
export class Agreements {
  readonly records: MarketplaceRecords;
  readonly #store: Store;
  readonly #changes = new Mutex();

  constructor(store: Store) {
    this.#store = store;
    this.records = new MarketplaceRecords(store);
  }

  /** Updates an agreement. `compute` receives its current state; null changes nothing. */
  update(
    offer: MarketplaceOffer,
    compute: (
      current: MarketplaceAgreement | undefined,
    ) => AgreementChange | null | Promise<AgreementChange | null>,
  ): Promise<MarketplaceAgreement | undefined> {
    return this.#changes.run(async () => {
      const current = this.records.findAgreement(offer.marketplace, subjectOf(offer));
      const changed = await compute(current);
      if (changed === null) return current;
      const { after, extraOperations = [] } = changed;
      // Allowed on a full disk: paid tiers must be granted, and ended ones revoked.
      await this.#store.write([...this.records.putAgreement(after), ...extraOperations], {
        mayUseReserve: true,
      });
      return after;
    });
  }

  /** Includes ended agreements. */
  listByOrganization(organizationId: string): Promise<MarketplaceAgreement[]> {
    return this.records.listAgreementsByOrganization(organizationId);
  }

  delete(agreement: MarketplaceAgreement): Promise<void> {
    return this.#changes.run(() =>
      this.#store.write(this.records.deleteAgreement(agreement), { mayUseReserve: true }),
    );
  }
}
