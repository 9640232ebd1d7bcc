import type { ValidationIssue } from '../base/app-error.ts';
import { limits } from '../base/limits.ts';
import { checkOf, type TSchema } from './typebox.ts';

/** The keywords that our schemas use; everything else in them describes. */
interface Shape {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Shape[];
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Shape;
  readonly items?: Shape;
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  null: 'null',
};

const checks = new WeakMap<Shape, (value: unknown) => boolean>();

/** Compiled once for each part of a schema: a list has up to a million items, and the loop waits while they are read. */
function fits(shape: Shape, value: unknown): boolean {
  let check = checks.get(shape);
  if (check === undefined) {
    check = checkOf(shape as TSchema);
    checks.set(shape, check);
  }
  return check(value);
}

/**
 * What is wrong with `value`, in words for people: a fault says the field, what it must be and what it is. The
 * compiled schema decides whether there is a fault; this only explains, so it runs for refused requests only.
 */
export function issuesOf(schema: TSchema, value: unknown, loc: readonly string[]): ValidationIssue[] {
  const issues: ValidationIssue[] = [];
  explain(schema as Shape, value, loc, issues);
  return issues;
}

function explain(shape: Shape, value: unknown, loc: readonly string[], issues: ValidationIssue[]): void {
  if (issues.length >= limits.validationIssuesMax) return;
  if (shape.anyOf) {
    explainUnion(shape.anyOf, value, loc, issues);
  } else if (shape.enum || shape.const !== undefined) {
    explainWords(shape, value, loc, issues);
  } else if (shape.type !== undefined && !hasType(shape.type, value)) {
    const msg = `must be ${typeNames[shape.type] ?? shape.type}, but is ${described(value)}`;
    issues.push({ loc, msg, type: `${shape.type}_type` });
  } else if (Array.isArray(value)) {
    explainItems(shape.items, value, loc, issues);
  } else if (hasType('object', value)) {
    explainObject(shape, value as Record<string, unknown>, loc, issues);
  } else if (shape.type !== undefined && !fits(shape, value)) {
    issues.push({
      loc,
      msg: `must ${wantedScalar(shape as Record<string, unknown>, value)}`,
      type: 'value_error',
    });
  }
}

function explainItems(
  shape: Shape | undefined,
  items: readonly unknown[],
  loc: readonly string[],
  issues: ValidationIssue[],
): void {
  if (shape === undefined) return;
  for (const [i, item] of items.entries()) {
    if (issues.length >= limits.validationIssuesMax) return;
    if (!fits(shape, item)) explain(shape, item, [...loc, String(i)], issues);
  }
}

function explainObject(
  shape: Shape,
  value: Record<string, unknown>,
  loc: readonly string[],
  issues: ValidationIssue[],
): void {
  for (const name of shape.required ?? []) {
    if (!Object.hasOwn(value, name)) issues.push({ loc: [...loc, name], msg: 'is missing', type: 'missing' });
  }
  for (const [name, item] of Object.entries(value)) {
    const itemShape =
      shape.properties && Object.hasOwn(shape.properties, name) ? shape.properties[name] : undefined;
    const rule = itemShape ?? shape.additionalProperties;
    if (rule && !fits(rule, item)) explain(rule, item, [...loc, name], issues);
  }
}

/** A union fails as a whole, unless one branch fits better: the same `type` word, or the same JSON type. */
function explainUnion(
  branches: readonly Shape[],
  value: unknown,
  loc: readonly string[],
  issues: ValidationIssue[],
): void {
  if (branches.some((branch) => fits(branch, value))) return;
  const tagged = branches.filter((branch) => branch.properties?.type);
  const close = branches.filter((branch) => branch.type !== undefined && hasType(branch.type, value));
  if (tagged.length > 0 && hasType('object', value)) {
    explainTagged(tagged, value as Record<string, unknown>, loc, issues);
  } else if (close.length === 1 && close[0]) {
    explain(close[0], value, loc, issues);
  } else {
    const wanted = new Set(branches.map((branch) => typeNames[branch.type ?? ''] ?? 'another shape'));
    issues.push({
      loc,
      msg: `must be ${[...wanted].join(' or ')}, but is ${described(value)}`,
      type: 'union_type',
    });
  }
}

function explainTagged(
  branches: readonly Shape[],
  value: Record<string, unknown>,
  loc: readonly string[],
  issues: ValidationIssue[],
): void {
  const tagOf = (branch: Shape) => wordsOf(branch.properties?.type ?? {});
  const words = branches.flatMap(tagOf);
  const branch = branches.find((each) => tagOf(each).includes(value.type));
  if (branch) {
    explainObject(branch, value, loc, issues);
  } else if (Object.hasOwn(value, 'type')) {
    explainWords({ enum: words }, value.type, [...loc, 'type'], issues);
  } else {
    issues.push({ loc: [...loc, 'type'], msg: `is missing; it must be ${oneOf(words)}`, type: 'missing' });
  }
}

function explainWords(shape: Shape, value: unknown, loc: readonly string[], issues: ValidationIssue[]): void {
  const words = wordsOf(shape);
  if (words.includes(value)) return;
  issues.push({ loc, msg: `must be ${oneOf(words)}, but is ${shown(value)}`, type: 'enum' });
}

function wordsOf(shape: Shape): readonly unknown[] {
  return shape.enum ?? (shape.const === undefined ? [] : [shape.const]);
}

function oneOf(words: readonly unknown[]): string {
  return words.length === 1 ? quoted(words) : `one of ${quoted(words)}`;
}

function quoted(words: readonly unknown[]): string {
  return words.map((word) => JSON.stringify(word)).join(', ');
}

function hasType(type: string, value: unknown): boolean {
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'array') return Array.isArray(value);
  if (type === 'null') return value === null;
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return typeof value === type;
}

/** What a value of the right type must be or have, and what this one is or has. */
function wantedScalar(shape: Readonly<Record<string, unknown>>, value: unknown): string {
  const { minimum, maximum, minLength, maxLength, format } = shape;
  if (typeof minLength === 'number' || typeof maxLength === 'number') {
    // A value that is too long may be a secret, so its length stands for it.
    return `have ${range(minLength, maxLength)} characters, but has ${lengthOf(value).toLocaleString('en')}`;
  }
  const wanted =
    typeof minimum === 'number' || typeof maximum === 'number'
      ? `a number of ${range(minimum, maximum)}`
      : (formatNames[String(format)] ?? `a value of the form ${JSON.stringify(shape.pattern ?? format)}`);
  return `be ${wanted}, but is ${shown(value)}`;
}

const formatNames: Readonly<Record<string, string>> = {
  uuid: 'a UUID',
  'date-time': 'a date and time such as "2026-11-30T12:00:00Z"',
};

function range(from: unknown, to: unknown): string {
  const [first, last] = [from, to].map((bound) =>
    typeof bound === 'number' ? bound.toLocaleString('en') : null,
  );
  if (first === null) return `at most ${last}`;
  return last === null ? `at least ${first}` : `${first} to ${last}`;
}

/** In characters, as schemas count them. */
function lengthOf(value: unknown): number {
  return typeof value === 'string' ? [...value].length : 0;
}

const shownUnitsMax = 64;

/** A value in a reply to its sender, shortened; containers by their kind. */
function shown(value: unknown): string {
  if (typeof value === 'string' && value.length > shownUnitsMax) {
    return `${JSON.stringify(value.slice(0, shownUnitsMax).toWellFormed())}... (${value.length.toLocaleString('en')} characters)`;
  }
  if (typeof value === 'object' && value !== null) return described(value);
  return JSON.stringify(value);
}

/** Names a value of a wrong type, which may be a whole document, without repeating it. */
function described(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a fraction';
  return typeNames[typeof value] ?? typeof value;
}
