/** Encodes attributes and filters for the engine, in the formats of native/engine/attributes.h and filter.h. */
import { unreachable } from '../core/assert.ts';

export type FilterNode =
  | { kind: 'and' | 'or'; nodes: FilterNode[] }
  | {
      kind: 'compare';
      attribute: string;
      operator: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte';
      value: string;
    }
  | { kind: 'member'; attribute: string; operator: 'in' | 'nin'; values: string[] }
  /** Whether the attribute has at least one value. */
  | { kind: 'existence'; attribute: string; operator: 'exists' | 'missing' };

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
} as const;

/** Growing little-endian buffer; a text is written as its UTF-8 length, then its bytes. */
class ByteWriter {
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

export function encodeAttributes(
  attributes: Readonly<Record<string, string | readonly string[]>>,
): Uint8Array {
  const writer = new ByteWriter();
  const names = Object.keys(attributes);
  writer.number(names.length);
  for (const name of names) {
    const value = attributes[name] ?? [];
    const values = typeof value === 'string' ? [value] : value;
    writer.text(name);
    writer.number(values.length);
    for (const item of values) writer.text(item);
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

function writeFilter(writer: ByteWriter, node: FilterNode): void {
  switch (node.kind) {
    case 'and':
    case 'or':
      writeLogicalNode(writer, operatorCode[node.kind], node.nodes);
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
    default:
      unreachable(node);
  }
}

function writeLogicalNode(writer: ByteWriter, code: number, nodes: readonly FilterNode[]): void {
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
  values: readonly string[],
): void {
  writer.byte(code);
  writer.text(attribute);
  writer.number(values.length);
  for (const value of values) writer.text(value);
}
