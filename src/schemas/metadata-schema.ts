import { AppError } from '../core/app-error.ts';
import { parseInstant } from '../core/instants.ts';
import { type MetadataType, metadataTypes } from '../core/metadata-types.ts';
import { type Static, Type } from './typebox.ts';
import type { DocumentMetadataJson } from './wire.ts';

/** Prefix of the names of lists in metadata. */
export const listPrefix = 'list:';

/** The shape is checked here (422); names and their number are checked by `checkMetadataSchema` (400). */
export const MetadataSchema = Type.Unsafe<Record<string, MetadataType>>({
  title: 'MetadataSchema',
  description:
    'Types of metadata fields by name: `string`, `number`, `boolean`, `date` (a string with an RFC 3339 date) or `geo` (`{"lat": 52.5, "lon": 13.4}`). Documents whose value has another type are rejected. Filters compare dates by their instants. At most 256 fields; other fields may have any type.',
  type: 'object',
  additionalProperties: { anyOf: metadataTypes.map((type) => ({ const: type })) },
  examples: [{ year: 'number', published: 'date', place: 'geo' }],
});
export type MetadataSchema = Static<typeof MetadataSchema>;

const descriptions: Readonly<Record<MetadataType, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'a boolean',
  date: 'an RFC 3339 date, such as "2026-03-31" or "2026-03-31T09:00:00+02:00"',
  geo: 'a point such as {"lat": 52.5, "lon": 13.4}',
};

type MetadataValue = DocumentMetadataJson[string] | readonly string[];

function isOfType(type: MetadataType, value: MetadataValue): boolean {
  if (type === 'date') return typeof value === 'string' && parseInstant(value) !== null;
  return type === 'geo' ? typeof value === 'object' && !Array.isArray(value) : typeof value === type;
}

/** Errors: 400 that names a field whose value has another type than the schema of the collection declares. */
export function checkMetadataTypes(
  schema: MetadataSchema | undefined,
  metadata: Readonly<Record<string, MetadataValue>>,
): void {
  for (const [name, type] of Object.entries(schema ?? {})) {
    const value = Object.hasOwn(metadata, name) ? metadata[name] : undefined;
    if (value === undefined || isOfType(type, value)) continue;
    throw new AppError(
      'bad_request',
      `metadata "${name}" must be ${descriptions[type]}, because the metadata_schema of the collection declares it as "${type}".`,
    );
  }
}
