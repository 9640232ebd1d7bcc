import type { GeoPoint } from '../core/geo.ts';
import { recordCodec, type ValueCodec } from './table.ts';

export type MetadataValue = string | number | boolean | GeoPoint | readonly string[];
export type Metadata = Readonly<Record<string, MetadataValue>>;

/**
 * Codec for records with metadata, which are stored as JSON text: users choose those field names, `__proto__`
 * is a valid one, and MessagePack decoders rename it.
 */
export function recordWithMetadataCodec<V extends { readonly metadata: Metadata }>(): ValueCodec<V> {
  const codec = recordCodec<Omit<V, 'metadata'> & { metadata: string }>();
  return {
    encode: (value) => codec.encode({ ...value, metadata: JSON.stringify(value.metadata) }),
    decode(bytes) {
      const record = codec.decode(bytes);
      return { ...record, metadata: JSON.parse(record.metadata) as Metadata } as unknown as V;
    },
  };
}
