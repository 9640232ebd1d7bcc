import type { TSchema } from './typebox.ts';

/** A value that fits a schema without the fields that the schema does not know; the value itself when it has none. */
export type Clean = (value: unknown) => unknown;

interface Shape {
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly additionalProperties?: unknown;
  readonly items?: TSchema;
  readonly anyOf?: readonly TSchema[];
}

/**
 * Null when no value of the schema can hold unknown fields. Ours, because `Value.Clean` of TypeBox looks at each number
 * of a vector, and a document may bring millions; this looks only where objects with known fields can be.
 */
export function cleanerOf(schema: TSchema): Clean | null {
  const { type, properties, items, anyOf } = schema as Shape;
  if (anyOf !== undefined) return unionCleaner(anyOf);
  if (type === 'array' && items !== undefined) return listCleaner(items);
  if (properties === undefined || isOpenObject(schema as Shape)) return null;
  return objectCleaner(properties);
}

function objectCleaner(properties: Readonly<Record<string, TSchema>>): Clean {
  const known = Object.keys(properties);
  const names = new Set(known);
  const nested = Object.entries(properties).flatMap(([name, property]) => {
    const clean = cleanerOf(property);
    return clean === null ? [] : [[name, clean] as const];
  });
  return (value) => {
    if (!isObject(value)) return value;
    let copy: Record<string, unknown> | null = null;
    if (Object.keys(value).some((name) => !names.has(name))) {
      const kept = known.filter((name) => Object.hasOwn(value, name));
      copy = Object.fromEntries(kept.map((name) => [name, value[name]]));
    }
    for (const [name, clean] of nested) {
      const cleaned = clean(value[name]);
      if (cleaned === value[name]) continue;
      copy ??= { ...value };
      copy[name] = cleaned;
    }
    return copy ?? value;
  };
}

function listCleaner(items: TSchema): Clean | null {
  const clean = cleanerOf(items);
  if (clean === null) return null;
  return (value) => {
    if (!Array.isArray(value)) return value;
    const cleaned = value.map(clean);
    return cleaned.some((item, i) => item !== value[i]) ? cleaned : value;
  };
}

/** The fields of all variants are known; a value of another type is left as it is. */
function unionCleaner(variants: readonly TSchema[]): Clean | null {
  const shapes = variants as readonly Shape[];
  const objects = shapes.flatMap(({ properties }) => (properties === undefined ? [] : [properties]));
  const list = shapes.find(({ type }) => type === 'array');
  const cleanObject =
    objects.length === 0 || shapes.some(isOpenObject) ? null : objectCleaner(Object.assign({}, ...objects));
  const cleanList = list === undefined ? null : cleanerOf(list as TSchema);
  if (cleanObject === null && cleanList === null) return null;
  return (value) => {
    const clean = Array.isArray(value) ? cleanList : cleanObject;
    return clean === null ? value : clean(value);
  };
}

/** Takes objects with fields of any name. */
function isOpenObject({ type, properties, additionalProperties }: Shape): boolean {
  return type === 'object' && (properties === undefined || additionalProperties !== undefined);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
