import type { Instant } from '../core/instants.ts';
import { ByteWriter, type FilterNode, writeValue } from './encoding.ts';

/** Counts of documents by the values of an attribute. */
export interface FacetRequest {
  readonly attribute: string;
  /** Maximum number of values, the most frequent first; unused with ranges. */
  readonly valuesMax: number;
  /** From `from` (inclusive) to `to` (exclusive); null: no bound. Both ends of a range have the same type. */
  readonly ranges: readonly FacetRange[];
}

export interface FacetRange {
  readonly from: FacetBound | null;
  readonly to: FacetBound | null;
}

/** A date is compared with strings that are dates, by instant. */
export type FacetBound = string | number | FacetDate;

export interface FacetDate {
  readonly instant: Instant;
  /** The date as the request writes it. */
  readonly text: string;
}

/** Facets of the documents that match a filter. */
export interface FacetCount {
  readonly filter: FilterNode | null;
  readonly facets: readonly FacetRequest[];
  /** Versions that do not count, ascending. */
  readonly expired: Float64Array;
}

export interface FacetResult {
  /** Number of distinct values; 0 for ranges. */
  readonly distinct: number;
  /** One entry per value or per range, whose value is null. */
  readonly counts: readonly {
    readonly value: string | number | boolean | null;
    readonly documents: number;
  }[];
}

/** Least text of a type, and the least one above it, of the format of native/engine/typed_values.h. */
const bounds = {
  string: [Uint8Array.of(), Uint8Array.of(0xf8)],
  number: [Uint8Array.of(0xf8), Uint8Array.of(0xf9)],
  date: [Uint8Array.of(0xfa), Uint8Array.of(0xfb)],
} as const;

/** Encodes facets in the format of native/engine/facets.h. */
export function encodeFacets(facets: readonly FacetRequest[]): Uint8Array {
  const writer = new ByteWriter();
  writer.number(facets.length);
  for (const { attribute, valuesMax, ranges } of facets) {
    writer.text(attribute);
    writer.number(valuesMax);
    writer.number(ranges.length);
    for (const { from, to } of ranges) {
      const [first, end] = bounds[typeOf(from ?? to)];
      writeBound(writer, from, first);
      writeBound(writer, to, end);
    }
  }
  return writer.toBytes();
}

function typeOf(bound: FacetBound | null): keyof typeof bounds {
  if (typeof bound === 'object') return 'date';
  return typeof bound === 'number' ? 'number' : 'string';
}

function writeBound(writer: ByteWriter, bound: FacetBound | null, otherwise: Uint8Array): void {
  if (bound === null) writer.bytes(otherwise);
  else writeValue(writer, typeof bound === 'object' ? bound.instant : bound);
}

/** Decodes the counts of facets, in the format of native/engine/facets.h. */
export function decodeFacets(bytes: Buffer, facets: readonly FacetRequest[]): FacetResult[] {
  let offset = 0;
  const readNumber = () => {
    offset += 8;
    return bytes.readDoubleLE(offset - 8);
  };
  const readCount = () => {
    offset += 4;
    return bytes.readUInt32LE(offset - 4);
  };
  return facets.map(({ ranges }) => {
    const length = readCount();
    const distinct = readNumber();
    const counts = Array.from({ length }, () => {
      const size = readCount();
      const value = ranges.length > 0 ? null : decodeValue(bytes.subarray(offset, offset + size));
      offset += size;
      return { value, documents: readNumber() };
    });
    return { distinct, counts };
  });
}

function decodeValue(bytes: Buffer): string | number | boolean {
  if (bytes[0] === 0xf9) return bytes[1] === 1;
  if (bytes[0] !== 0xf8) return bytes.toString('utf8');
  const number = Buffer.from(bytes.subarray(1));
  // The sign bit of positive numbers is set, and negative numbers are inverted.
  if (number[0]! >= 0x80) number[0]! -= 0x80;
  else for (let i = 0; i < 8; i++) number[i] = ~number[i]!;
  return number.readDoubleBE(0);
}
