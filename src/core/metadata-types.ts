export const metadataTypes = ['string', 'number', 'boolean', 'date', 'geo'] as const;
export type MetadataType = (typeof metadataTypes)[number];

/** Declared types of metadata fields by name. */
export type FieldTypes = Readonly<Record<string, MetadataType>>;
