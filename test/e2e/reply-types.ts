import Type, { type TSchema } from 'typebox';

/** Types of fields that several reply shapes have. */

export const OneOf = <const V extends string>(words: readonly V[]) =>
  Type.Unsafe<V>({ type: 'string', enum: [...words] });
export const Nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);
export const Uuid = Type.String({ pattern: '^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$' });
export const DateTime = Type.String({
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?(Z|[+-]\\d\\d:\\d\\d)$',
});
