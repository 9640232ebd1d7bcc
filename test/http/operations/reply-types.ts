import Type, { type TSchema } from 'typebox';

/** Types of fields that several reply shapes have. */

export const OneOf = <const V extends string>(words: readonly V[]) =>
  Type.Unsafe<V>({ type: 'string', enum: [...words] });
export const Nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);
export const Uuid = Type.String({ pattern: '^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$' });
export const DateTime = Type.String({
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?(Z|[+-]\\d\\d:\\d\\d)$',
});

/** Numbers, booleans and points only if a client sent them. */
export const Metadata = Type.Unsafe<
  Record<string, string | string[] | number | boolean | { lat: number; lon: number }>
>({
  type: 'object',
  additionalProperties: {
    anyOf: [
      { type: 'string' },
      { type: 'array', items: { type: 'string' } },
      { type: 'number' },
      { type: 'boolean' },
      {
        type: 'object',
        properties: { lat: { type: 'number' }, lon: { type: 'number' } },
        required: ['lat', 'lon'],
      },
    ],
  },
});
export const IndexStatus = OneOf([
  'not_parsed',
  'parsing',
  'not_indexed',
  'indexing',
  'indexed',
  'parsing_failed',
  'indexing_failed',
]);
export const DefaultResponse = Type.Object({ message: Type.Optional(Type.String()) });
