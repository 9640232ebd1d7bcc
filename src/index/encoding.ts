/** Encodes attributes and filters for the engine, in the formats of native/engine/attributes.h and filter.h. */
import { unreachable } from '../core/assert.ts';
import type { GeoArea, GeoPoint } from '../core/geo.ts';
import type { Instant } from '../core/instants.ts';
import { encodeArea, encodeBoolean, encodeInstant, encodeNumber, encodePoint } from './typed-values.ts';

/** Operand of a condition. An instant is compared with strings that are dates. */
export type FilterValue = string | number | boolean | Instant;

export type IndexValue = string | number | boolean | GeoPoint | readonly string[];

export type FilterNode =
  | { kind: 'and' | 'or'; nodes: FilterNode[] }
  | {
      kind: 'compare';
      attribute: string;
      /** `ngt`, `ngte`, `nlt`, `nlte`: the complements, which also match a missing value and one of another type. */
      operator: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | 'ngt' | 'ngte' | 'nlt' | 'nlte';
      value: FilterValue;
    }
  | { kind: 'member'; attribute: string; operator: 'in' | 'nin'; values: FilterValue[] }
  | { kind: 'area'; attribute: string; operator: 'within' | 'outside'; area: GeoArea }
  /** Whether the attribute has at least one value. */
  | { kind: 'existence'; attribute: string; operator: 'exists' | 'missing' }
  /** Concerns versions of documents, not their attributes. */
  | { kind: 'version'; operator: 'in' | 'not_in'; versions: readonly number[] };

const operatorCode = {
  and: 0,
  or: 1,
  eq: 2,
  ne: 3,
  gt: 4,
  gte: 5,
  lt: 6,
  lte: 7,
  in: 8,
  nin: 9,
  exists: 10,
  missing: 11,
  ngt: 12,
  ngte: 13,
  nlt: 14,
  nlte: 15,
  within: 16,
  outside: 17,
} as const;

type Comparison = Extract<FilterNode, { kind: 'compare' }>;

/** Two comparisons that the engine evaluates in one scan: those of the values between two bounds. */
interface Range {
  readonly kind: 'range';
  readonly low: Comparison;
  readonly high: Comparison;
}

const versionCode = { in: 22, not_in: 23 } as const;

const rangeCode = { gt: { lt: 18, lte: 19 }, gte: { lt: 20, lte: 21 } } as const;

/** Growing little-endian buffer; a text is written as the length of its UTF-8, then its bytes. */
export class ByteWriter {
  #buffer = Buffer.allocUnsafe(256);
  #length = 0;

  byte(value: number): void {
    this.#reserve(1);
    this.#length = this.#buffer.writeUInt8(value, this.#length);
  }

  number(value: number): void {
    this.#reserve(4);
    this.#length = this.#buffer.writeUInt32LE(value, this.#length);
  }

  text(value: string): void {
    const bytesMax = value.length * 3;
    this.#reserve(4 + bytesMax);
    const written = this.#buffer.write(value, this.#length + 4, 'utf8');
    this.#buffer.writeUInt32LE(written, this.#length);
    this.#length += 4 + written;
  }

  bytes(value: Uint8Array): void {
    this.number(value.length);
    this.#reserve(value.length);
    this.#buffer.set(value, this.#length);
    this.#length += value.length;
  }

  toBytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#length + bytes));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}

export function encodeAttributes(attributes: Readonly<Record<string, IndexValue>>): Uint8Array {
  const writer = new ByteWriter();
  const names = Object.keys(attributes);
  writer.number(names.length);
  for (const name of names) {
    const value = attributes[name] ?? [];
    const values = Array.isArray(value) ? (value as readonly string[]) : [value as FilterValue | GeoPoint];
    writer.text(name);
    writer.number(values.length);
    for (const item of values) writeValue(writer, item);
  }
  return writer.toBytes();
}

/**
 * Encodes the filter as a postfix program. An `and` or `or` of many nodes becomes a chain of pairs, so that
 * the number of sets held by the engine is bounded by the depth of the filter, not by its length.
 * `limits.filterDepthMax` bounds the depth of filters in requests.
 */
export function encodeFilter(filter: FilterNode): Uint8Array {
  const writer = new ByteWriter();
  writeFilter(writer, filter);
  return writer.toBytes();
}

/** Whole milliseconds of a deadline, at least 0. */
export function encodeMilliseconds(milliseconds: number): number {
  return Math.max(0, Math.ceil(milliseconds));
}

/** Null for no filter. */
export function encodeOptionalFilter(filter: FilterNode | null): Uint8Array | null {
  return filter === null ? null : encodeFilter(filter);
}

function writeFilter(writer: ByteWriter, node: FilterNode | Range): void {
  switch (node.kind) {
    case 'range': {
      const { low, high } = node;
      const code = rangeCode[low.operator as 'gt' | 'gte'][high.operator as 'lt' | 'lte'];
      writeCondition(writer, code, low.attribute, [low.value, high.value]);
      return;
    }
    case 'and':
    case 'or':
      writeLogicalNode(
        writer,
        operatorCode[node.kind],
        node.kind === 'and' ? mergeRanges(node.nodes) : node.nodes,
      );
      return;
    case 'compare':
      writeCondition(writer, operatorCode[node.operator], node.attribute, [node.value]);
      return;
    case 'member':
      writeCondition(writer, operatorCode[node.operator], node.attribute, node.values);
      return;
    case 'existence':
      writeCondition(writer, operatorCode[node.operator], node.attribute, []);
      return;
    case 'area':
      writeCondition(writer, operatorCode[node.operator], node.attribute, [node.area]);
      return;
    case 'version':
      writeCondition(writer, versionCode[node.operator], '', node.versions.map(String));
      return;
    default:
      unreachable(node);
  }
}

/**
 * Replaces a lower and an upper bound of one attribute by a range. Two scans would visit the values above the one and
 * below the other bound: all values of the attribute, and those between the bounds twice.
 */
function mergeRanges(nodes: readonly FilterNode[]): readonly (FilterNode | Range)[] {
  const merged: (FilterNode | Range)[] = [];
  /** Positions of bounds without the other end. */
  const open = new Map<string, number>();
  for (const node of nodes) {
    const end = endOf(node);
    if (end === null) {
      merged.push(node);
      continue;
    }
    const other = end === 'low' ? 'high' : 'low';
    const bound = node as Comparison;
    // Strings, numbers and instants have different types.
    const field = `${typeof bound.value} ${bound.attribute}`;
    const at = open.get(`${other} ${field}`);
    if (at === undefined) {
      open.set(`${end} ${field}`, merged.push(bound) - 1);
      continue;
    }
    open.delete(`${other} ${field}`);
    const known = merged[at] as Comparison;
    merged[at] = {
      kind: 'range',
      ...(end === 'low' ? { low: bound, high: known } : { low: known, high: bound }),
    };
  }
  return merged;
}

/** Returns which end of a range a node is; null for neither. */
function endOf(node: FilterNode): 'low' | 'high' | null {
  if (node.kind !== 'compare') return null;
  if (node.operator === 'gt' || node.operator === 'gte') return 'low';
  return node.operator === 'lt' || node.operator === 'lte' ? 'high' : null;
}

function writeLogicalNode(writer: ByteWriter, code: number, nodes: readonly (FilterNode | Range)[]): void {
  if (nodes.length === 0) {
    writer.byte(code);
    writer.number(0);
  }
  nodes.forEach((node, index) => {
    writeFilter(writer, node);
    if (index === 0) return;
    writer.byte(code);
    writer.number(2);
  });
}

function writeCondition(
  writer: ByteWriter,
  code: number,
  attribute: string,
  values: readonly (FilterValue | GeoArea)[],
): void {
  writer.byte(code);
  writer.text(attribute);
  writer.number(values.length);
  for (const value of values) writeValue(writer, value);
}

export function writeValue(writer: ByteWriter, value: FilterValue | GeoPoint | GeoArea): void {
  if (typeof value === 'string') writer.text(value);
  else if (typeof value === 'number') writer.bytes(encodeNumber(value));
  else if (typeof value === 'boolean') writer.bytes(encodeBoolean(value));
  else if ('seconds' in value) writer.bytes(encodeInstant(value));
  else writer.bytes('lat' in value ? encodePoint(value) : encodeArea(value));
}
