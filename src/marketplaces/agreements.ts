import { Mutex } from '../core/async/mutex.ts';
import { type Agreement, MarketplaceRecords, type Offer, subjectOf } from '../store/marketplaces.ts';
import type { Operation, Store } from '../store/store.ts';

/** What becomes of an agreement, and what is written with it. */
export interface Change {
  readonly after: Agreement;
  readonly alongside?: readonly Operation[];
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
  change(
    offer: Offer,
    change: (known: Agreement | undefined) => Change | null | Promise<Change | null>,
  ): Promise<Agreement | undefined> {
    return this.#changes.run(async () => {
      const known = this.records.agreement(offer.marketplace, subjectOf(offer));
      const changed = await change(known);
      if (changed === null) return known;
      const { after, alongside = [] } = changed;
      // Also on a full disk: what somebody pays for is granted, and what ended is not.
      await this.#store.write([...this.records.put(after), ...alongside], { mayUseReserve: true });
      return after;
    });
  }

  /** Also those of the organisation that are over. */
  ofOrganisation(organizationId: string): Promise<Agreement[]> {
    return this.records.agreementsOf(organizationId);
  }

  forget(agreement: Agreement): Promise<void> {
    return this.#changes.run(() =>
      this.#store.write(this.records.delete(agreement), { mayUseReserve: true }),
    );
  }
}
