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
      msg: `is not ${wantedScalar(shape as Record<string, unknown>)}`,
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
    issues.push({ loc: [...loc, 'type'], msg: `is missing; it is one of ${quoted(words)}`, type: 'missing' });
  }
}

function explainWords(shape: Shape, value: unknown, loc: readonly string[], issues: ValidationIssue[]): void {
  const words = wordsOf(shape);
  if (words.includes(value)) return;
  issues.push({ loc, msg: `must be one of ${quoted(words)}, but is ${described(value)}`, type: 'enum' });
}

function wordsOf(shape: Shape): readonly unknown[] {
  return shape.enum ?? (shape.const === undefined ? [] : [shape.const]);
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

function wantedScalar(shape: Readonly<Record<string, unknown>>): string {
  if (shape.format === 'uuid') return 'a UUID';
  if (typeof shape.minimum === 'number') return `a number from ${shape.minimum} to ${shape.maximum}`;
  return `a value of the documented form`;
}

/** Names a value without repeating what a caller sent: replies and logs stay free of document text. */
function described(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a fraction';
  return typeNames[typeof value] ?? typeof value;
}
