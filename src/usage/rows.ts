import { assertDefined } from '../core/assert.ts';
import { tables, text, u8, u32, uuid } from '../storage/keys.ts';
import { readCounters, type Store, type WriteOperation } from '../storage/store.ts';
import { bytesCodec, Table } from '../storage/table.ts';
import { type PeriodLength, periodAt, periodLengths } from './periods.ts';
import { amountsOf, type UsageIncrement, type UsageKind, usageKinds } from './usage-events.ts';

/**
 * Usage on disk: organization, kind, length of the period, number of the period, subject -> absolute totals.
 * The numbers of kinds and lengths are part of the disk format: append new ones to their lists.
 */
const rows = new Table<
  readonly [organizationId: string, kind: number, length: number, period: number, subject: string],
  Uint8Array
>(tables.usage, [uuid, u8, u8, u32, text], bytesCodec);

export interface UsageRow {
  readonly period: number;
  readonly subject: string;
  /** In the order of `counterNames`; see `amountsOf`. */
  readonly amounts: readonly number[];
}

export interface UsageRowRange {
  readonly organizationId: string;
  readonly kind: UsageKind;
  readonly length: PeriodLength;
  /** First period, inclusive. */
  readonly from: number;
  /** End of the range, exclusive. */
  readonly to: number;
}

/**
 * Returns operations that add a count to the period of every length that contains `atMs`. The store computes
 * the absolute totals when it applies the write, so a count written together with the counted change is
 * exactly as durable as that change.
 */
export function countOperations(increment: UsageIncrement, atMs: number): WriteOperation[] {
  const { organizationId, kind, subjectId, category, amounts } = increment;
  const subject = `${subjectId} ${category}`;
  return periodLengths.map((length, index) => ({
    type: 'add',
    key: rows.keyOf(organizationId, usageKinds.indexOf(kind), index, periodAt(length, atMs), subject),
    amounts,
  }));
}

/** Rows in chronological order. */
export async function* readRows(store: Store, range: UsageRowRange): AsyncGenerator<UsageRow, void, void> {
  const kind = usageKinds.indexOf(range.kind);
  const length = periodLengths.indexOf(range.length);
  const gte = rows.keyOf(range.organizationId, kind, length, range.from);
  const lt = rows.keyOf(range.organizationId, kind, length, range.to);
  const width = amountsOf(range.kind);
  for await (const entry of rows.range(store, [range.organizationId, kind, length], { gte, lt })) {
    const [, , , period, subject] = entry.key;
    yield { period, subject, amounts: readCounters(entry.value, width) };
  }
}

/** Returns deletions of up to `limit` rows of an organization; empty if none are left. */
export async function rowDeletions(
  store: Store,
  organizationId: string,
  limit: number,
): Promise<WriteOperation[]> {
  const deletions: WriteOperation[] = [];
  for await (const key of rows.keys(store, [organizationId], { limit }))
    deletions.push({ type: 'delete', key });
  return deletions;
}

/** Splits a subject into subject id and category. */
export function parseSubject(subject: string): readonly [string, string] {
  const parts = subject.split(' ');
  return [
    assertDefined(parts[0], 'a subject has an id'),
    assertDefined(parts[1], 'a subject has a category'),
  ];
}
