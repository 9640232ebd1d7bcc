import type { ValidationIssue } from '../core/app-error.ts';
import { isObject } from '../core/is-object.ts';
import { limits } from '../core/limits.ts';
import { createCheck, type TSchema } from './typebox.ts';

/** Keywords that the schemas use and that validate; all others are descriptive. */
interface JsonSchema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema;
  readonly items?: JsonSchema;
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

const checks = new WeakMap<JsonSchema, (value: unknown) => boolean>();

/** Compiled once per subschema: a list has up to a million items, and validation blocks the event loop. */
function matchesSchema(schema: JsonSchema, value: unknown): boolean {
  let check = checks.get(schema);
  if (check === undefined) {
    check = createCheck(schema as TSchema);
    checks.set(schema, check);
  }
  return check(value);
}

/**
 * Explains a validation failure for people: each issue has the field, the expectation and the actual value.
 * The compiled schema decides validity; this runs only for invalid requests.
 */
export function explainIssues(schema: TSchema, value: unknown, loc: readonly string[]): ValidationIssue[] {
  const issues: ValidationIssue[] = [];
  explainValue(schema as JsonSchema, value, loc, issues);
  return issues;
}

function explainValue(
  schema: JsonSchema,
  value: unknown,
  loc: readonly string[],
  issues: ValidationIssue[],
): void {
  if (issues.length >= limits.validationIssuesMax) return;
  if (schema.anyOf) {
    explainUnion(schema.anyOf, value, loc, issues);
  } else if (schema.enum || schema.const !== undefined) {
    explainEnum(schema, value, loc, issues);
  } else if (schema.type !== undefined && !hasType(schema.type, value)) {
    const msg = `must be ${typeNames[schema.type] ?? schema.type}, but is ${describeType(value)}`;
    issues.push({ loc, msg, type: `${schema.type}_type` });
  } else if (Array.isArray(value)) {
    explainItems(schema.items, value, loc, issues);
  } else if (hasType('object', value)) {
    explainObject(schema, value as Record<string, unknown>, loc, issues);
  } else if (schema.type !== undefined && !matchesSchema(schema, value)) {
    issues.push({
      loc,
      msg: `must ${describeExpectedScalar(schema as Record<string, unknown>, value)}`,
      type: 'value_error',
    });
  }
}

function explainItems(
  schema: JsonSchema | undefined,
  items: readonly unknown[],
  loc: readonly string[],
  issues: ValidationIssue[],
): void {
  if (schema === undefined) return;
  for (const [i, item] of items.entries()) {
    if (issues.length >= limits.validationIssuesMax) return;
    if (!matchesSchema(schema, item)) explainValue(schema, item, [...loc, String(i)], issues);
  }
}

function explainObject(
  schema: JsonSchema,
  value: Record<string, unknown>,
  loc: readonly string[],
  issues: ValidationIssue[],
): void {
  for (const name of schema.required ?? []) {
    if (!Object.hasOwn(value, name)) issues.push({ loc: [...loc, name], msg: 'is missing', type: 'missing' });
  }
  for (const [name, item] of Object.entries(value)) {
    const itemShape =
      schema.properties && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    const rule = itemShape ?? schema.additionalProperties;
    if (rule && !matchesSchema(rule, item)) explainValue(rule, item, [...loc, name], issues);
  }
}

/**
 * A union fails as a whole, unless one branch matches better: the same `type` value, or the same JSON type.
 */
function explainUnion(
  branches: readonly JsonSchema[],
  value: unknown,
  loc: readonly string[],
  issues: ValidationIssue[],
): void {
  if (branches.some((branch) => matchesSchema(branch, value))) return;
  const tagged = branches.filter((branch) => branch.properties?.type);
  const sameType = branches.filter((branch) => branch.type !== undefined && hasType(branch.type, value));
  if (tagged.length > 0 && hasType('object', value)) {
    explainTagged(tagged, value as Record<string, unknown>, loc, issues);
  } else if (sameType.length === 1 && sameType[0]) {
    explainValue(sameType[0], value, loc, issues);
  } else {
    const expected = new Set(branches.map((branch) => typeNames[branch.type ?? ''] ?? 'another shape'));
    issues.push({
      loc,
      msg: `must be ${[...expected].join(' or ')}, but is ${describeType(value)}`,
      type: 'union_type',
    });
  }
}

function explainTagged(
  branches: readonly JsonSchema[],
  value: Record<string, unknown>,
  loc: readonly string[],
  issues: ValidationIssue[],
): void {
  const tagOf = (branch: JsonSchema) => enumValues(branch.properties?.type ?? {});
  const values = branches.flatMap(tagOf);
  const branch = branches.find((each) => tagOf(each).includes(value.type));
  if (branch) {
    explainObject(branch, value, loc, issues);
  } else if (Object.hasOwn(value, 'type')) {
    explainEnum({ enum: values }, value.type, [...loc, 'type'], issues);
  } else {
    issues.push({
      loc: [...loc, 'type'],
      msg: `is missing; it must be ${formatAlternatives(values)}`,
      type: 'missing',
    });
  }
}

function explainEnum(
  schema: JsonSchema,
  value: unknown,
  loc: readonly string[],
  issues: ValidationIssue[],
): void {
  const values = enumValues(schema);
  if (values.includes(value)) return;
  issues.push({
    loc,
    msg: `must be ${formatAlternatives(values)}, but is ${formatValue(value)}`,
    type: 'enum',
  });
}

function enumValues(schema: JsonSchema): readonly unknown[] {
  return schema.enum ?? (schema.const === undefined ? [] : [schema.const]);
}

function formatAlternatives(values: readonly unknown[]): string {
  return values.length === 1 ? formatList(values) : `one of ${formatList(values)}`;
}

function formatList(values: readonly unknown[]): string {
  return values.map((word) => JSON.stringify(word)).join(', ');
}

function hasType(type: string, value: unknown): boolean {
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'array') return Array.isArray(value);
  if (type === 'null') return value === null;
  if (type === 'object') return isObject(value);
  return typeof value === type;
}

/** Describes the expected and the actual property of a scalar of the right type. */
function describeExpectedScalar(schema: Readonly<Record<string, unknown>>, value: unknown): string {
  const { minimum, maximum, minLength, maxLength, format } = schema;
  if (typeof minLength === 'number' || typeof maxLength === 'number') {
    // A value that is too long may be a secret, so only its length is reported.
    return `have ${formatRange(minLength, maxLength)} characters, but has ${codePointLength(value).toLocaleString('en')}`;
  }
  const expected =
    typeof minimum === 'number' || typeof maximum === 'number'
      ? `a number of ${formatRange(minimum, maximum)}`
      : (formatNames[String(format)] ?? `a value of the form ${JSON.stringify(schema.pattern ?? format)}`);
  return `be ${expected}, but is ${formatValue(value)}`;
}

const formatNames: Readonly<Record<string, string>> = {
  uuid: 'a UUID',
  'date-time': 'a date and time such as "2026-11-30T12:00:00Z"',
};

function formatRange(from: unknown, to: unknown): string {
  const [first, last] = [from, to].map((bound) =>
    typeof bound === 'number' ? bound.toLocaleString('en') : null,
  );
  if (first === null) return `at most ${last}`;
  return last === null ? `at least ${first}` : `${first} to ${last}`;
}

/** Length in code points, as schemas count characters. */
function codePointLength(value: unknown): number {
  return typeof value === 'string' ? [...value].length : 0;
}

const displayedUnitsMax = 64;

/** Formats a value for a reply to its sender, shortened; containers by type. */
function formatValue(value: unknown): string {
  if (typeof value === 'string' && value.length > displayedUnitsMax) {
    return `${JSON.stringify(value.slice(0, displayedUnitsMax).toWellFormed())}... (${value.length.toLocaleString('en')} characters)`;
  }
  if (typeof value === 'object' && value !== null) return describeType(value);
  return JSON.stringify(value);
}

/** Names the type of a value, which may be a whole document, without repeating it. */
function describeType(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a fraction';
  return typeNames[typeof value] ?? typeof value;
}
