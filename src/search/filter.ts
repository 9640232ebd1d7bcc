import { isObject } from '../core/is-object.ts';
import { limits } from '../core/limits.ts';
import type { FieldTypes } from '../core/metadata-types.ts';
import type { FilterNode, FilterValue } from '../index/encoding.ts';
import { negateFilter } from './filter-negation.ts';
import { countCondition, descend, type FilterPosition, reject } from './filter-position.ts';
import { prefixConditions } from './filter-prefix.ts';
import { checkOrdered, isScalar, parseBox, parseRadius, parseText, parseValue } from './filter-values.ts';

/**
 * Parses the metadata filter of a query into the form that a shard evaluates.
 *
 * `{attribute: {operator: value}}`, a bare value for `$eq`, `$and`/`$or` over arrays, `$not` over a filter.
 * Several operators on one attribute and several attributes in one object are combined with AND. Unknown
 * syntax is rejected with its position: a filter is never silently ignored, because it may be an access
 * restriction. With the schema of a collection, strings that are compared with a field of dates are dates.
 */
export function parseFilter(filter: unknown, schema?: FieldTypes): FilterNode | null {
  if (filter === undefined || filter === null) return null;
  const state = { nodes: 0, schema };
  return parseObject(filter, { path: 'filter', depth: 0, state });
}

const comparisons = new Map([
  ['$eq', 'eq'],
  ['$ne', 'ne'],
  ['$gt', 'gt'],
  ['$gte', 'gte'],
  ['$lt', 'lt'],
  ['$lte', 'lte'],
] as const);
const memberships = new Map([
  ['$in', 'in'],
  ['$nin', 'nin'],
] as const);
const connectives = new Map([
  ['$and', 'and'],
  ['$or', 'or'],
] as const);
const attributePattern = /^(?:list:)?[\p{L}\p{N}_-]+$/u;
const operatorList =
  '$eq, $ne, $gt, $gte, $lt, $lte, $in, $nin, $exists, $prefix, $between, $contains, $geo_radius, $geo_box, $not';
const listOperators = new Set(['$in', '$nin', '$exists', '$contains', '$not']);

/**
 * Parses an object of attributes and connectives, combined with AND; null when it is empty and so matches
 * all.
 */
function parseObject(value: unknown, position: FilterPosition): FilterNode | null {
  if (!isObject(value)) reject(position, 'expected an object.');
  const nodes: FilterNode[] = [];
  for (const [key, condition] of Object.entries(value)) {
    const inner = descend(position, `.${key}`);
    const connective = connectives.get(key as '$and');
    if (connective !== undefined) nodes.push(parseConnective(connective, condition, inner));
    else if (key === '$not') nodes.push(parseNegation(condition, inner));
    else if (key.startsWith('$')) {
      reject(inner, `"${key}" is not a valid key; use an attribute name, $and, $or or $not.`);
    } else nodes.push(...parseAttribute(key, condition, inner));
  }
  return toConjunction(nodes);
}

function toConjunction(nodes: FilterNode[]): FilterNode | null {
  if (nodes.length === 0) return null;
  return nodes.length === 1 ? nodes[0]! : { kind: 'and', nodes };
}

function parseConnective(kind: 'and' | 'or', value: unknown, position: FilterPosition): FilterNode {
  countCondition(position);
  if (!Array.isArray(value) || value.length === 0)
    reject(position, 'expected an array with at least one filter.');
  const nodes = value.map((entry, i) => {
    const inner = descend(position, `[${i}]`);
    return parseObject(entry, inner) ?? reject(inner, 'an empty filter is not allowed inside $and or $or.');
  });
  return { kind, nodes };
}

function parseNegation(value: unknown, position: FilterPosition): FilterNode {
  countCondition(position);
  const node =
    parseObject(value, position) ?? reject(position, 'an empty filter is not allowed inside $not.');
  return negateFilter(node);
}

function parseAttribute(attribute: string, value: unknown, position: FilterPosition): FilterNode[] {
  if (!attributePattern.test(attribute)) {
    reject(
      position,
      'attribute names may contain only letters, digits, "-" and "_", with the prefix "list:" for list attributes.',
    );
  }
  if (isScalar(value)) return [parseOperator(attribute, '$eq', value, position)];
  if (!isObject(value))
    reject(position, 'expected a string, a number, a boolean or an object such as {"$eq": "value"}.');
  const operators = Object.entries(value);
  if (operators.length === 0) reject(position, `expected at least one operator: ${operatorList}.`);
  return operators.flatMap(([operator, operand]) =>
    parseCondition(attribute, operator, operand, descend(position, `.${operator}`)),
  );
}

/** Parses one operator; the conditions that it stands for must all hold. */
function parseCondition(
  attribute: string,
  name: string,
  operand: unknown,
  position: FilterPosition,
): FilterNode[] {
  if (attribute.startsWith('list:') && name.startsWith('$') && !listOperators.has(name))
    reject(position, '"list:" attributes support only $contains, $exists, $not, $in and $nin.');
  switch (name) {
    case '$exists':
      countCondition(position);
      if (typeof operand !== 'boolean') reject(position, 'expected true or false.');
      return [{ kind: 'existence', attribute, operator: operand ? 'exists' : 'missing' }];
    case '$prefix':
      countCondition(position);
      return prefixConditions(attribute, parseText(operand, position));
    case '$geo_radius':
    case '$geo_box': {
      countCondition(position);
      const area = name === '$geo_box' ? parseBox(operand, position) : parseRadius(operand, position);
      return [{ kind: 'area', attribute, operator: 'within', area }];
    }
    case '$between':
      return parseBetween(attribute, operand, position);
    case '$contains':
      return parseContains(attribute, operand, position);
    case '$not': {
      const inner = toConjunction(parseAttribute(attribute, operand, position));
      return [negateFilter(inner ?? reject(position, 'expected at least one operator.'))];
    }
    default:
      return [parseOperator(attribute, name, operand, position)];
  }
}

/** Both ends are included. */
function parseBetween(attribute: string, operand: unknown, position: FilterPosition): FilterNode[] {
  if (!Array.isArray(operand) || operand.length !== 2)
    reject(position, 'expected an array of two strings, numbers or dates, the first and the last value.');
  const bounds = (['gte', 'lte'] as const).map((operator, i) => {
    const inner = descend(position, `[${i}]`);
    countCondition(inner);
    const value = checkOrdered(parseValue(attribute, operand[i], inner), inner);
    return { kind: 'compare', attribute, operator, value } as const;
  });
  if (typeof bounds[0]!.value !== typeof bounds[1]!.value)
    reject(position, 'the first and the last value must have the same type.');
  return bounds;
}

/** A list contains each of the values. */
function parseContains(attribute: string, operand: unknown, position: FilterPosition): FilterNode[] {
  if (!attribute.startsWith('list:'))
    reject(position, '$contains is for "list:" attributes; use $prefix or $eq for strings.');
  const values = typeof operand === 'string' ? [operand] : parseValues(attribute, operand, position);
  if (values.length === 0) reject(position, 'expected a string or an array with at least one string.');
  return values.map((value) => {
    countCondition(position);
    return { kind: 'member', attribute, operator: 'in', values: [parseText(value, position)] };
  });
}

function parseOperator(
  attribute: string,
  name: string,
  operand: unknown,
  position: FilterPosition,
): FilterNode {
  countCondition(position);
  const membership = memberships.get(name as '$in');
  if (membership !== undefined) {
    const values = parseValues(attribute, operand, position);
    return { kind: 'member', attribute, operator: membership, values };
  }
  const comparison = comparisons.get(name as '$eq');
  if (comparison === undefined) reject(position, `unknown operator "${name}"; supported: ${operatorList}.`);
  if (attribute.startsWith('list:'))
    reject(position, '"list:" attributes support only $contains, $exists, $not, $in and $nin.');
  const value = parseValue(attribute, operand, position);
  if (comparison !== 'eq' && comparison !== 'ne') checkOrdered(value, position);
  return { kind: 'compare', attribute, operator: comparison, value };
}

function parseValues(attribute: string, operand: unknown, position: FilterPosition): FilterValue[] {
  if (!Array.isArray(operand)) reject(position, 'expected an array of values.');
  if (operand.length > limits.filterValuesMax)
    reject(position, `it lists more than ${limits.filterValuesMax} values.`);
  return operand.map((value, i) => parseValue(attribute, value, descend(position, `[${i}]`)));
}
