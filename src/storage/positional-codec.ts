import { uuid } from './keys.ts';
import { recordCodec, type ValueCodec } from './table.ts';

const arrayCodec = recordCodec<unknown[]>();

/** Encodes and decodes one field; `record` has the fields before it, and when it is encoded, all fields. */
export interface FieldCodec<T, V> {
  encode(value: T, record: V): unknown;
  decode(stored: unknown, record: V): T;
}

/** Null: the value as it is. */
type FieldCodecs<V> = { readonly [F in keyof V]?: FieldCodec<Exclude<V[F], undefined>, V> | null };

interface PositionalOptions<V, K> {
  /** Fields in stored order. A field may be appended, and none removed or moved. */
  readonly fields: FieldCodecs<V>;
  /** Codec of records that were stored as maps of names and values. */
  readonly named: Pick<ValueCodec<V>, 'decode'>;
  /** Returns the fields that are not stored because the key has them. */
  readonly fieldsOfKey?: (key: K) => Partial<V>;
}

/**
 * Codec for records without the names of their fields: a MessagePack array of a number whose bit i is 1 if field i is
 * present, followed by the values of the present fields. Names and text forms of IDs and hashes took more than half of
 * the bytes of a record. Up to 31 fields.
 */
export function positionalCodec<V extends object, K = void>(
  options: PositionalOptions<V, K>,
): ValueCodec<V, K> {
  const { named, fieldsOfKey } = options;
  const names = Object.keys(options.fields) as (keyof V)[];
  const codecs = names.map((name) => options.fields[name] as FieldCodec<unknown, V> | null);
  return {
    encode(record) {
      const stored: unknown[] = [0];
      let present = 0;
      for (let i = 0; i < names.length; i += 1) {
        const value = record[names[i]!];
        if (value === undefined) continue;
        present |= 1 << i;
        const codec = codecs[i]!;
        stored.push(codec === null ? value : codec.encode(value, record));
      }
      stored[0] = present;
      return arrayCodec.encode(stored);
    },
    decode(bytes, key) {
      if (!isPositional(bytes)) return named.decode(bytes);
      const stored = arrayCodec.decode(bytes);
      const record = (fieldsOfKey === undefined ? {} : fieldsOfKey(key)) as V;
      const present = stored[0] as number;
      let at = 1;
      for (let i = 0; i < names.length; i += 1) {
        if ((present & (1 << i)) === 0) continue;
        const codec = codecs[i]!;
        const value = codec === null ? stored[at] : codec.decode(stored[at], record);
        record[names[i]!] = value as V[keyof V];
        at += 1;
      }
      return record;
    },
  };
}

/** Whether a record was stored without names: MessagePack starts an array with 0x9*, 0xdc or 0xdd. */
export function isPositional(bytes: Uint8Array): boolean {
  const first = bytes[0] ?? 0;
  return first >> 4 === 0x9 || first === 0xdc || first === 0xdd;
}

/** Lower-case UUIDs as 16 bytes; other texts and null as they are. */
export const uuidField = {
  encode: (value: string) => (uuidPattern.test(value) ? uuid.encode(value) : value),
  decode: (stored: unknown) => (typeof stored === 'string' ? stored : formatUuid(stored as Uint8Array)),
};

const textCodec = recordCodec<string>();

/** Values that are a UUID: 16 bytes, before format 5 a MessagePack text of 38 bytes. */
export const uuidCodec: ValueCodec<string> = {
  encode(value) {
    const stored = uuidField.encode(value);
    return typeof stored === 'string' ? textCodec.encode(stored) : stored;
  },
  decode: (bytes) => (bytes.byteLength === uuidBytes ? formatUuid(bytes) : textCodec.decode(bytes)),
};

/** SHA-256 in lower-case hex as 32 bytes; other texts as they are. */
export const hashField = {
  encode: (value: string) => (hashPattern.test(value) ? Buffer.from(value, 'hex') : value),
  decode: (stored: unknown) => (typeof stored === 'string' ? stored : toHex(stored as Uint8Array)),
};

const uuidBytes = 16;
const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const hashPattern = /^[0-9a-f]{64}$/;

/** Values of a list as their positions; other values as they are. Values may be appended to the list, and none moved. */
export function choiceField<T extends string>(values: readonly T[]) {
  return {
    encode(value: T): T | number {
      const index = values.indexOf(value);
      return index < 0 ? value : index;
    },
    decode: (stored: unknown) => (typeof stored === 'number' ? values[stored]! : (stored as T)),
  };
}

function formatUuid(bytes: Uint8Array): string {
  const hex = toHex(bytes);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
}
