import type { FormValue } from './form.ts';
import type { StripeOperation } from './operations.ts';
import type { Field, Shape } from './sdk-shapes.ts';
import { StripeApiError } from './stripe-error.ts';

/**
 * Parses and validates the parameters of a request; numbers and booleans are converted. Errors: Stripe's 400 for an
 * unknown name, an unknown enum value, a missing or mistyped parameter, and a field that cannot be expanded.
 */
// biome-ignore lint/suspicious/noExplicitAny: parameters of many operations, checked against their types here
export type StripeParameters = Record<string, any>;

const expandDepthMax = 4;

export function parseParameters(
  operation: StripeOperation,
  form: Record<string, FormValue>,
): StripeParameters {
  const shape: Shape = operation.parameters ?? { kind: 'fields', fields: new Map() };
  const parameters = readShape(shape, form, '') as StripeParameters;
  for (const path of (parameters.expand ?? []) as string[]) checkExpand(operation.replyShape, path);
  return parameters;
}

function readShape(shape: Shape, value: FormValue, at: string): unknown {
  switch (shape.kind) {
    case 'string':
      return readText(shape.words, value, at);
    case 'number':
      return readNumber(value, at);
    case 'boolean':
      if (value === 'true' || value === 'false') return value === 'true';
      throw new StripeApiError(`Invalid boolean: ${describeValue(value)}`, { param: at });
    case 'decimal':
      if (typeof value === 'string' && /^-?\d+(\.\d{1,12})?$/.test(value)) return value;
      throw new StripeApiError(
        `Invalid decimal: ${describeValue(value)}; must contain at most twelve decimal places.`,
        {
          param: at,
        },
      );
    case 'null':
      throw new StripeApiError(`Invalid value for ${at}`, { param: at });
    case 'anything':
      return value;
    case 'array':
      return readList(shape.of, value, at);
    case 'map':
      return readMap(shape.of, value, at);
    case 'fields':
      return readFields(shape.fields, value, at);
    case 'union':
      return readUnion(shape.of, value, at);
  }
}

function readText(words: readonly string[] | null, value: FormValue, at: string): string {
  if (typeof value !== 'string')
    throw new StripeApiError(`Invalid string: ${describeValue(value)}`, { param: at });
  if (words === null || words.includes(value)) return value;
  const offered = words.filter((word) => word !== '');
  const list =
    offered.length === 1 ? offered[0] : `one of ${offered.slice(0, -1).join(', ')} or ${offered.at(-1)}`;
  throw new StripeApiError(`Invalid ${at}: must be ${list}`, { param: at });
}

function readNumber(value: FormValue, at: string): number {
  if (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value)) return Number(value);
  throw new StripeApiError(`Invalid integer: ${describeValue(value)}`, {
    param: at,
    code: 'parameter_invalid_integer',
  });
}

function readList(of: Shape, value: FormValue, at: string): unknown[] {
  if (!Array.isArray(value)) throw new StripeApiError('Invalid array', { param: at });
  return value.map((one, index) => readShape(of, one, `${at}[${index}]`));
}

function readMap(of: Shape, value: FormValue, at: string): Record<string, unknown> {
  if (typeof value === 'string') throw new StripeApiError('Invalid object', { param: at });
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      one === '' ? '' : readShape(of, one, childPath(at, name)),
    ]),
  );
}

function readFields(
  fields: ReadonlyMap<string, Field>,
  value: FormValue,
  at: string,
): Record<string, unknown> {
  if (typeof value === 'string' || Array.isArray(value))
    throw new StripeApiError('Invalid object', { param: at });
  const found: Record<string, unknown> = {};
  for (const [name, one] of Object.entries(value)) {
    const field = fields.get(name);
    const param = childPath(at, name);
    if (field === undefined)
      throw new StripeApiError(`Received unknown parameter: ${param}`, { code: 'parameter_unknown', param });
    found[name] = readShape(field.shape(), one, param);
  }
  for (const [name, { optional }] of fields) {
    if (optional || name in found) continue;
    const param = childPath(at, name);
    throw new StripeApiError(`Missing required param: ${param}.`, { code: 'parameter_missing', param });
  }
  return found;
}

/** Tries numbers and enum values before free text. */
function readUnion(of: readonly Shape[], value: FormValue, at: string): unknown {
  const order = ['number', 'boolean', 'decimal', 'string', 'array', 'map', 'fields', 'anything'];
  const fitting = of
    .filter(({ kind }) => kind !== 'null')
    .filter(
      ({ kind }) => (typeof value === 'string') === ['number', 'boolean', 'decimal', 'string'].includes(kind),
    )
    .sort((one, other) => order.indexOf(one.kind) - order.indexOf(other.kind));
  let errors: unknown = new StripeApiError(`Invalid ${typeof value === 'string' ? 'object' : 'string'}`, {
    param: at,
  });
  for (const shape of fitting) {
    try {
      return readShape(shape, value, at);
    } catch (error) {
      errors = error;
    }
  }
  throw errors;
}

function childPath(at: string, name: string): string {
  return at === '' ? name : `${at}[${name}]`;
}

function describeValue(value: FormValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A field can be expanded only if it holds an id or is omitted by default. */
function checkExpand(answer: Shape, path: string): void {
  const parts = path.split('.');
  const invalidExpansion = new StripeApiError(`This property cannot be expanded (${path}).`, {
    param: 'expand',
  });
  if (parts.filter((part) => part !== 'data').length > expandDepthMax)
    throw new StripeApiError(`You cannot expand more than ${expandDepthMax} levels of a property.`, {
      param: 'expand',
    });
  let around: readonly Shape[] = [answer];
  let last = false;
  for (const part of parts) {
    const fields = around.flatMap(fieldsOf).flatMap((all) => {
      const field = all.get(part);
      return field === undefined ? [] : [field];
    });
    if (fields.length === 0) throw invalidExpansion;
    const within = fields.map((field) => field.shape());
    last = fields.some((field) => field.optional) || within.some(isReference);
    around = within.flatMap((shape) => (shape.kind === 'union' ? shape.of : [shape]));
  }
  if (!last) throw invalidExpansion;
}

function isReference(shape: Shape): boolean {
  return (
    shape.kind === 'union' &&
    shape.of.some(({ kind }) => kind === 'string') &&
    shape.of.some(({ kind }) => kind === 'fields')
  );
}

function fieldsOf(shape: Shape): ReadonlyMap<string, Field>[] {
  if (shape.kind === 'fields') return [shape.fields];
  if (shape.kind === 'array') return fieldsOf(shape.of);
  return shape.kind === 'union' ? shape.of.flatMap(fieldsOf) : [];
}
