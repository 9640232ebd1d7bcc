import { ByteWriter, type FilterNode } from './encoding.ts';

/** One level of an order of documents by their attributes. */
export interface SortField {
  readonly attribute: string;
  readonly isDescending: boolean;
  /** Order strings that are dates by their instants; other values count as missing. */
  readonly isDate: boolean;
}

/** A list of documents in an order. */
export interface SortedListing {
  readonly filter: FilterNode | null;
  readonly sort: readonly SortField[];
  /** Versions to leave out, ascending. */
  readonly expired: Float64Array;
}

const descendingFlag = 1;
const dateFlag = 2;

/** Encodes an order in the format of native/engine/sorted_list.h. */
export function encodeSort(fields: readonly SortField[]): Uint8Array {
  const writer = new ByteWriter();
  writer.number(fields.length);
  for (const { attribute, isDescending, isDate } of fields) {
    writer.text(attribute);
    writer.byte((isDescending ? descendingFlag : 0) + (isDate ? dateFlag : 0));
  }
  return writer.toBytes();
}
