import type { GeoPoint } from '../core/geo.ts';
import { recordCodec, type ValueCodec } from './table.ts';

export type MetadataValue = string | number | boolean | GeoPoint | readonly string[];
export type Metadata = Readonly<Record<string, MetadataValue>>;

/**
 * Metadata as JSON text: users choose those field names, `__proto__` is a valid one, and MessagePack decoders rename
 * it.
 */
export const metadataField = {
  encode: (metadata: Metadata) => JSON.stringify(metadata),
  decode: (stored: unknown) => JSON.parse(stored as string) as Metadata,
};

/** Decodes records with metadata that were stored with the names of their fields, before format 5. */
export function namedRecordWithMetadata<V extends { readonly metadata: Metadata }>(): Pick<
  ValueCodec<V>,
  'decode'
> {
  const codec = recordCodec<Omit<V, 'metadata'> & { metadata: string }>();
  return {
    decode(bytes) {
      const record = codec.decode(bytes);
      return { ...record, metadata: JSON.parse(record.metadata) as Metadata } as unknown as V;
    },
  };
}
