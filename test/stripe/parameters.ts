import type { FormValue } from './form.ts';
import type { Operation } from './operations.ts';
import { Refusal } from './refusal.ts';
import type { Field, Shape } from './sdk-shapes.ts';

/**
 * What a request holds, with numbers and booleans as such. Stripe's 400 for a name that the operation does not know,
 * for a word that is none of its words, for what is missing or of the wrong kind, and for what cannot be expanded.
 */
// biome-ignore lint/suspicious/noExplicitAny: parameters of many operations, checked against their types here
export type Parameters = Record<string, any>;

const expandDepthMax = 4;

export function checkedParameters(operation: Operation, form: Record<string, FormValue>): Parameters {
  const shape: Shape = operation.parameters ?? { kind: 'fields', fields: new Map() };
  const parameters = read(shape, form, '') as Parameters;
  for (const path of (parameters.expand ?? []) as string[]) checkExpansion(operation.answer, path);
  return parameters;
}

function read(shape: Shape, value: FormValue, at: string): unknown {
  switch (shape.kind) {
    case 'string':
      return readText(shape.words, value, at);
    case 'number':
      return readNumber(value, at);
    case 'boolean':
      if (value === 'true' || value === 'false') return value === 'true';
      throw new Refusal(`Invalid boolean: ${shown(value)}`, { param: at });
    case 'decimal':
      if (typeof value === 'string' && /^-?\d+(\.\d{1,12})?$/.test(value)) return value;
      throw new Refusal(`Invalid decimal: ${shown(value)}; must contain at most twelve decimal places.`, {
        param: at,
      });
    case 'null':
      throw new Refusal(`Invalid value for ${at}`, { param: at });
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
  if (typeof value !== 'string') throw new Refusal(`Invalid string: ${shown(value)}`, { param: at });
  if (words === null || words.includes(value)) return value;
  const offered = words.filter((word) => word !== '');
  const list =
    offered.length === 1 ? offered[0] : `one of ${offered.slice(0, -1).join(', ')} or ${offered.at(-1)}`;
  throw new Refusal(`Invalid ${at}: must be ${list}`, { param: at });
}

function readNumber(value: FormValue, at: string): number {
  if (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value)) return Number(value);
  throw new Refusal(`Invalid integer: ${shown(value)}`, { param: at, code: 'parameter_invalid_integer' });
}

function readList(of: Shape, value: FormValue, at: string): unknown[] {
  if (!Array.isArray(value)) throw new Refusal('Invalid array', { param: at });
  return value.map((one, index) => read(of, one, `${at}[${index}]`));
}

function readMap(of: Shape, value: FormValue, at: string): Record<string, unknown> {
  if (typeof value === 'string') throw new Refusal('Invalid object', { param: at });
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, one === '' ? '' : read(of, one, below(at, name))]),
  );
}

function readFields(
  fields: ReadonlyMap<string, Field>,
  value: FormValue,
  at: string,
): Record<string, unknown> {
  if (typeof value === 'string' || Array.isArray(value)) throw new Refusal('Invalid object', { param: at });
  const found: Record<string, unknown> = {};
  for (const [name, one] of Object.entries(value)) {
    const field = fields.get(name);
    const param = below(at, name);
    if (field === undefined)
      throw new Refusal(`Received unknown parameter: ${param}`, { code: 'parameter_unknown', param });
    found[name] = read(field.shape(), one, param);
  }
  for (const [name, { optional }] of fields) {
    if (optional || name in found) continue;
    const param = below(at, name);
    throw new Refusal(`Missing required param: ${param}.`, { code: 'parameter_missing', param });
  }
  return found;
}

/** Texts are read as numbers and words before they are read as any text. */
function readUnion(of: readonly Shape[], value: FormValue, at: string): unknown {
  const order = ['number', 'boolean', 'decimal', 'string', 'array', 'map', 'fields', 'anything'];
  const fitting = of
    .filter(({ kind }) => kind !== 'null')
    .filter(
      ({ kind }) => (typeof value === 'string') === ['number', 'boolean', 'decimal', 'string'].includes(kind),
    )
    .sort((one, other) => order.indexOf(one.kind) - order.indexOf(other.kind));
  let refused: unknown = new Refusal(`Invalid ${typeof value === 'string' ? 'object' : 'string'}`, {
    param: at,
  });
  for (const shape of fitting) {
    try {
      return read(shape, value, at);
    } catch (error) {
      refused = error;
    }
  }
  throw refused;
}

function below(at: string, name: string): string {
  return at === '' ? name : `${at}[${name}]`;
}

function shown(value: FormValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Only what is an id, or is left out unless it is asked for, can be expanded. */
function checkExpansion(answer: Shape, path: string): void {
  const parts = path.split('.');
  const refusal = new Refusal(`This property cannot be expanded (${path}).`, { param: 'expand' });
  if (parts.filter((part) => part !== 'data').length > expandDepthMax)
    throw new Refusal(`You cannot expand more than ${expandDepthMax} levels of a property.`, {
      param: 'expand',
    });
  let around: readonly Shape[] = [answer];
  let last = false;
  for (const part of parts) {
    const fields = around.flatMap(fieldsOf).flatMap((all) => {
      const field = all.get(part);
      return field === undefined ? [] : [field];
    });
    if (fields.length === 0) throw refusal;
    const within = fields.map((field) => field.shape());
    last = fields.some((field) => field.optional) || within.some(isReference);
    around = within.flatMap((shape) => (shape.kind === 'union' ? shape.of : [shape]));
  }
  if (!last) throw refusal;
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
