import { tables, text, u32, uuid } from './keys.ts';
import { type Operation, readCounters, type Store } from './store.ts';
import { bytesCodec, Table } from './table.ts';

/** What one organisation used in one minute, as an absolute total. */
export interface UsageFact {
  readonly organizationId: string;
  /** Minutes since the epoch. */
  readonly minute: number;
  /** What is counted, unit included: 'embed_tokens', 'query_count', 'indexed_bytes', ... */
  readonly kind: string;
  /** Collection id or model id the use belongs to; empty when to none. */
  readonly subject: string;
  readonly total: number;
}

const usage = new Table<
  readonly [organizationId: string, minute: number, kind: string, subject: string],
  Uint8Array
>(tables.usage, [uuid, u32, text, text], bytesCodec);

/** Usage in minute buckets. */
export class Usage {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Adds `amount` to a bucket; join it to the write it belongs to, or write several at once. */
  add(fact: Omit<UsageFact, 'total'> & { readonly amount: number }): Operation {
    const key = usage.keyOf(fact.organizationId, fact.minute, fact.kind, fact.subject);
    return { type: 'add', key, amounts: [fact.amount] };
  }

  /** Buckets of one organisation with from <= minute < to, by time. */
  async *range(
    organizationId: string,
    minutes: { readonly from: number; readonly to: number },
  ): AsyncGenerator<UsageFact, void, void> {
    const bounds = {
      gte: usage.keyOf(organizationId, minutes.from),
      lt: usage.keyOf(organizationId, minutes.to),
    };
    for await (const { key, value } of usage.range(this.#store, [organizationId], bounds)) {
      const [total = 0] = readCounters(value, 1);
      yield { organizationId, minute: key[1], kind: key[2], subject: key[3], total };
    }
  }
}
