import { isObject } from '../core/is-object.ts';
import type { TSchema } from './typebox.ts';

/**
 * Returns a valid value without the fields that the schema does not know; the value itself when it has none.
 */
export type Cleaner = (value: unknown) => unknown;

interface JsonSchema {
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly additionalProperties?: unknown;
  readonly items?: TSchema;
  readonly anyOf?: readonly TSchema[];
}

/**
 * Compiles a cleaner; null when no value of the schema can have unknown fields. Replaces `Value.Clean` of
 * TypeBox, which visits each number of a vector, and a document may have millions; this visits only positions
 * where objects with known fields are possible.
 */
export function createCleaner(schema: TSchema): Cleaner | null {
  const { type, properties, items, anyOf } = schema as JsonSchema;
  if (anyOf !== undefined) return createUnionCleaner(anyOf);
  if (type === 'array' && items !== undefined) return createListCleaner(items);
  if (properties === undefined || isOpenObject(schema as JsonSchema)) return null;
  return createObjectCleaner(properties);
}

function createObjectCleaner(properties: Readonly<Record<string, TSchema>>): Cleaner {
  const knownNames = Object.keys(properties);
  const names = new Set(knownNames);
  const nested = Object.entries(properties).flatMap(([name, property]) => {
    const clean = createCleaner(property);
    return clean === null ? [] : [[name, clean] as const];
  });
  return (value) => {
    if (!isObject(value)) return value;
    let copy: Record<string, unknown> | null = null;
    if (Object.keys(value).some((name) => !names.has(name))) {
      const presentNames = knownNames.filter((name) => Object.hasOwn(value, name));
      copy = Object.fromEntries(presentNames.map((name) => [name, value[name]]));
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

function createListCleaner(items: TSchema): Cleaner | null {
  const clean = createCleaner(items);
  if (clean === null) return null;
  return (value) => {
    if (!Array.isArray(value)) return value;
    const cleaned = value.map(clean);
    return cleaned.some((item, i) => item !== value[i]) ? cleaned : value;
  };
}

/** Keeps the fields of all variants; returns a value of another type unchanged. */
function createUnionCleaner(variants: readonly TSchema[]): Cleaner | null {
  const schemas = variants as readonly JsonSchema[];
  const objects = schemas.flatMap(({ properties }) => (properties === undefined ? [] : [properties]));
  const list = schemas.find(({ type }) => type === 'array');
  const cleanObject =
    objects.length === 0 || schemas.some(isOpenObject)
      ? null
      : createObjectCleaner(Object.assign({}, ...objects));
  const cleanList = list === undefined ? null : createCleaner(list as TSchema);
  if (cleanObject === null && cleanList === null) return null;
  return (value) => {
    const clean = Array.isArray(value) ? cleanList : cleanObject;
    return clean === null ? value : clean(value);
  };
}

/** Whether the schema accepts objects with arbitrary fields. */
function isOpenObject({ type, properties, additionalProperties }: JsonSchema): boolean {
  return type === 'object' && (properties === undefined || additionalProperties !== undefined);
}
