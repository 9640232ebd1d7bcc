import { Mutex } from '../core/async/mutex.ts';
import {
  type MarketplaceAgreement,
  type MarketplaceOffer,
  MarketplaceRecords,
  subjectOf,
} from '../storage/marketplaces.ts';
import type { Store, WriteOperation } from '../storage/store.ts';

/** What becomes of an agreement, and what is written with it. */
export interface AgreementChange {
  readonly after: MarketplaceAgreement;
  readonly extraOperations?: readonly WriteOperation[];
}

/** The agreements of all organisations. Changes come one after another, each built on the one before. */
export class Agreements {
  readonly records: MarketplaceRecords;
  readonly #store: Store;
  readonly #changes = new Mutex();

  constructor(store: Store) {
    this.#store = store;
    this.records = new MarketplaceRecords(store);
  }

  /** `change` gets what is known of it; null changes nothing. */
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
      // Also on a full disk: what somebody pays for is granted, and what ended is not.
      await this.#store.write([...this.records.putAgreement(after), ...extraOperations], {
        mayUseReserve: true,
      });
      return after;
    });
  }

  /** Also those of the organisation that are over. */
  listByOrganization(organizationId: string): Promise<MarketplaceAgreement[]> {
    return this.records.listAgreementsByOrganization(organizationId);
  }

  delete(agreement: MarketplaceAgreement): Promise<void> {
    return this.#changes.run(() =>
      this.#store.write(this.records.deleteAgreement(agreement), { mayUseReserve: true }),
    );
  }
}
