import { type Static, type TObject, type TProperties, type TSchema, Type } from './typebox.ts';

/**
 * Definitions shared by every schema of the wire contract. A schema with a `title` is a named component,
 * which the OpenAPI document defines once. A range whose violation is a 400 is in the description and in
 * `checks.ts`, never a keyword here, because a keyword violation is a 422.
 */

/**
 * Named component of the OpenAPI document. Unknown fields are ignored, so additional properties are not
 * forbidden.
 */
export function Component<P extends TProperties>(
  title: string,
  description: string,
  properties: P,
): TObject<P> {
  return Type.Object(properties, { title, description });
}

export function Nullable<S extends TSchema>(
  schema: S,
  options: { description?: string; examples?: unknown[] } = {},
) {
  return Type.Union([schema, Type.Null()], options);
}

/** One of a fixed set of strings; other values are a 422. */
export function OneOf<const V extends string>(
  values: readonly V[],
  options: { title?: string; description?: string; default?: V } = {},
) {
  return Type.Unsafe<V>({ type: 'string', enum: [...values], ...options });
}

export function Uuid(description: string) {
  return Type.String({ format: 'uuid', description });
}

export function Timestamp(description: string) {
  return Type.String({ format: 'date-time', description });
}

/** Integer counter in a reply. */
export function Count(description: string) {
  return Type.Integer({ description });
}

export function CollectionName() {
  return Type.String({
    description:
      'Name of the collection: 1 to 1,024 bytes of UTF-8, without NUL. An unknown name returns 404.',
    examples: ['handbook'],
  });
}

export function DocumentPath(
  description = 'Path of the document inside its collection: 1 to 4,096 bytes of UTF-8, compared byte by byte.',
) {
  return Type.String({ description, examples: ['guides/setup.pdf'] });
}

/** Vector supplied by the caller. `services/vector-inputs` checks its length and numbers (400). */
export function VectorField(description: string) {
  return Type.Union([Type.Array(Type.Number()), Type.String()], {
    description: `${description} Numbers, or base64 of little-endian 32-bit floats. Any nonzero length; the vector is normalized to length 1.`,
    examples: [[0.12, -0.98, 0.31]],
  });
}

/** A point as value of metadata; `checkMetadata` checks its ranges. */
const GeoPointJson = {
  type: 'object',
  properties: { lat: { type: 'number' }, lon: { type: 'number' } },
  required: ['lat', 'lon'],
  additionalProperties: false,
} as const;

export const metadataValueSchemas = [
  { type: 'string' },
  { type: 'array', items: { type: 'string' } },
  { type: 'number' },
  { type: 'boolean' },
  GeoPointJson,
] as const;

/**
 * Attributes of a document. The shape is checked here (422); names and size are checked by `checkMetadata`
 * (400).
 */
export const DocumentMetadataJson = Type.Unsafe<
  Record<string, string | number | boolean | { lat: number; lon: number } | string[]>
>({
  title: 'DocumentMetadataJson',
  description:
    'Attributes of a document: strings, numbers (64-bit floats), booleans, points such as `{"lat": 52.5, "lon": 13.4}`, or lists of strings under names that start with `list:`. Names consist of letters, digits, `-` and `_`. At most 65,535 bytes as compact JSON.',
  type: 'object',
  additionalProperties: { anyOf: metadataValueSchemas },
  examples: [{ author: 'Ada', 'list:topics': ['billing', 'refunds'] }],
});
export type DocumentMetadataJson = Static<typeof DocumentMetadataJson>;

export const DefaultResponse = Component('DefaultResponse', 'The operation succeeded.', {
  message: Type.Optional(
    Type.String({
      default: 'Success!',
      description: 'Message for display; programs should check the status.',
    }),
  ),
});
export type DefaultResponse = Static<typeof DefaultResponse>;

/** Reply of every operation without a payload. */
export const successResponse: DefaultResponse = Object.freeze({ message: 'Success!' });

export const EmptyRequest = Component('EmptyRequest', 'No fields; the body may be empty.', {});
export type EmptyRequest = Static<typeof EmptyRequest>;
