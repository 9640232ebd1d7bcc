import { Packr } from 'msgpackr';
import { assert } from '../core/assert.ts';
import { type KeyField, prefixRange } from './keys.ts';
import type { RangeOptions, Store, WriteOperation } from './store.ts';

/**
 * Values are plain MessagePack without shared structures and extensions: maps with field names, which a reader of any
 * later version can decode without knowing the writer, and arrays for the most frequent records
 * (`positional-codec.ts`).
 */
const packr = new Packr({ useRecords: false, variableMapSize: true, moreTypes: false });

/** Encodes and decodes the values of a table; `K`: the key, for values that do not repeat its fields. */
export interface ValueCodec<V, K = void> {
  encode(value: V): Uint8Array;
  decode(bytes: Uint8Array, key: K): V;
}

/**
 * Codec for records of strings, numbers, booleans, null, bytes, arrays, and objects with field names defined
 * in code.
 */
export function recordCodec<V>(): ValueCodec<V> {
  return {
    // `pack` returns a view of a large shared buffer, which a waiting write must not keep alive; small copies
    // share one of Node's small pool buffers.
    encode: (value) => Buffer.from(packr.pack(value)),
    decode: (bytes) => packr.unpack(bytes) as V,
  };
}

/** Codec for raw bytes. */
export const bytesCodec: ValueCodec<Uint8Array> = { encode: (value) => value, decode: (bytes) => bytes };

type Fields<K extends readonly unknown[]> = { readonly [I in keyof K]: KeyField<K[I]> };

/** Leading fields of a key: none, some or all of them. */
type KeyPrefix<K extends readonly unknown[]> = K extends readonly [...infer Start, unknown]
  ? K | KeyPrefix<readonly [...Start]>
  : readonly [];

export interface TableEntry<K, V> {
  readonly key: K;
  readonly value: V;
}

/**
 * One record type under one table byte. A table holds no store: it builds operations, which callers combine
 * with others into one atomic write; reads take the store as an argument.
 */
export class Table<K extends readonly unknown[], V> {
  readonly #byte: number;
  readonly #fields: readonly KeyField<unknown>[];
  readonly #codec: ValueCodec<V, K>;

  constructor(byte: number, fields: Fields<K>, codec: ValueCodec<V, K> | ValueCodec<V> = recordCodec<V>()) {
    this.#byte = byte;
    this.#fields = fields as unknown as readonly KeyField<unknown>[];
    // A codec without a key ignores the one that it is passed.
    this.#codec = codec as ValueCodec<V, K>;
  }

  /** Returns the bytes of a key, or the common prefix of all keys with these leading fields. */
  keyOf(...leading: KeyPrefix<K>): Uint8Array {
    return this.#keyOf(leading);
  }

  /** Writes in place, without allocations besides the key: a write has dozens of keys. */
  #keyOf(leading: readonly unknown[]): Uint8Array {
    let length = 1;
    for (let i = 0; i < leading.length; i += 1) length += this.#fields[i]!.bytes(leading[i]);
    const key = Buffer.allocUnsafe(length);
    key[0] = this.#byte;
    let offset = 1;
    for (let i = 0; i < leading.length; i += 1) offset = this.#fields[i]!.write(leading[i], key, offset);
    return key;
  }

  decodeKey(bytes: Uint8Array): K {
    assert(bytes[0] === this.#byte, 'a key belongs to the table that reads it');
    const values: unknown[] = [];
    let offset = 1;
    for (const field of this.#fields) {
      const [value, next] = field.decode(bytes, offset);
      values.push(value);
      offset = next;
    }
    assert(offset === bytes.byteLength, 'a key has exactly the fields of its table');
    return values as unknown as K;
  }

  decodeValue(key: K, bytes: Uint8Array): V {
    return this.#codec.decode(bytes, key);
  }

  put(key: K, value: V): Extract<WriteOperation, { type: 'put' }> {
    return { type: 'put', key: this.#encodeKey(key), value: this.#codec.encode(value) };
  }

  delete(key: K): Extract<WriteOperation, { type: 'delete' }> {
    return { type: 'delete', key: this.#encodeKey(key) };
  }

  /**
   * Rejects the write unless `holds` returns true for the record (undefined if missing) when the write is
   * applied.
   */
  expect(key: K, holds: (value: V | undefined) => boolean, description: string): WriteOperation {
    return {
      type: 'expect',
      key: this.#encodeKey(key),
      holds: (bytes) => holds(bytes === undefined ? undefined : this.#codec.decode(bytes, key)),
      description,
    };
  }

  get(store: Store, key: K): V | undefined {
    const bytes = store.get(this.#encodeKey(key));
    return bytes === undefined ? undefined : this.#codec.decode(bytes, key);
  }

  getMany(store: Store, keys: readonly K[]): (V | undefined)[] {
    const values = store.getMany(keys.map((key) => this.#encodeKey(key)));
    return values.map((bytes, i) => (bytes === undefined ? undefined : this.#codec.decode(bytes, keys[i]!)));
  }

  /**
   * Returns all records whose key starts with these fields, in key order; `options` narrow the range.
   * `acceptsKey`: skips records without decoding their values, which takes half the time.
   */
  async *range(
    store: Store,
    leading: KeyPrefix<K>,
    options: RangeOptions = {},
    acceptsKey: (key: K) => boolean = () => true,
  ): AsyncGenerator<TableEntry<K, V>, void, void> {
    for await (const { key, value } of store.range(
      intersectRange(prefixRange(this.keyOf(...leading)), options),
    )) {
      const decodedKey = this.decodeKey(key);
      if (acceptsKey(decodedKey)) yield { key: decodedKey, value: this.#codec.decode(value, decodedKey) };
    }
  }

  /** Returns the raw keys without decoding and without reading values, for deletion. */
  async *keys(
    store: Store,
    leading: KeyPrefix<K>,
    options: RangeOptions = {},
  ): AsyncGenerator<Uint8Array, void, void> {
    const range = intersectRange(prefixRange(this.keyOf(...leading)), { ...options, values: false });
    for await (const { key } of store.range(range)) yield key;
  }

  #encodeKey(key: K): Uint8Array {
    return this.#keyOf(key);
  }
}

/** Returns `options` limited to `range`: a bound in `options` replaces that of the range on the same side. */
function intersectRange(range: { gte: Uint8Array; lt: Uint8Array }, options: RangeOptions): RangeOptions {
  const start = options.gt === undefined && options.gte === undefined ? { gte: range.gte } : {};
  const end = options.lt === undefined && options.lte === undefined ? { lt: range.lt } : {};
  return { ...start, ...end, ...options };
}
