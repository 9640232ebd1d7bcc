import { AppError } from '../base/app-error.ts';
import { limits } from '../base/limits.ts';
import type { FilterNode } from '../engine/collection-index.ts';

/**
 * The metadata filter of a query, from what the client sent to what a shard evaluates.
 *
 * `{attribute: {operator: value}}`, a bare string for `$eq`, `$and`/`$or` over arrays. Several operators on one
 * attribute and several attributes in one object all have to hold. Whatever is not understood is refused with the
 * place where it stands: a filter is never silently ignored, for it may be what keeps one reader from another's page.
 */
export function parseFilter(filter: unknown): FilterNode | null {
  if (filter === undefined || filter === null) return null;
  const state = { nodes: 0 };
  return parseObject(filter, { at: 'filter', depth: 0, state });
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
const operatorList = '$eq, $ne, $gt, $gte, $lt, $lte, $in, $nin';

interface Place {
  /** Where we are, as the user would write it: `filter.$and[0].year`. */
  readonly at: string;
  readonly depth: number;
  readonly state: { nodes: number };
}

function refuse(place: Place, problem: string): never {
  throw new AppError('bad_request', `The filter is not valid at ${shorten(place.at)}: ${problem}`);
}

function shorten(at: string): string {
  return at.length <= 200 ? at : `${at.slice(0, 100)}…${at.slice(-99)}`;
}

function enter(place: Place, step: string): Place {
  const next = { at: place.at + step, depth: place.depth + 1, state: place.state };
  if (next.depth > limits.filterDepthMax)
    refuse(next, `it nests deeper than ${limits.filterDepthMax} levels.`);
  return next;
}

function count(place: Place): void {
  place.state.nodes += 1;
  if (place.state.nodes > limits.filterNodesMax) {
    refuse(place, `it has more than ${limits.filterNodesMax} conditions.`);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object of attributes and connectives, all of which must hold; null when it is empty and so matches all. */
function parseObject(value: unknown, place: Place): FilterNode | null {
  if (!isObject(value)) refuse(place, 'an object is expected here.');
  const nodes: FilterNode[] = [];
  for (const [key, condition] of Object.entries(value)) {
    const inner = enter(place, `.${key}`);
    const connective = connectives.get(key as '$and');
    if (connective !== undefined) nodes.push(parseConnective(connective, condition, inner));
    else if (key.startsWith('$')) {
      refuse(inner, `"${key}" is not known here; use an attribute name, $and or $or.`);
    } else nodes.push(...parseAttribute(key, condition, inner));
  }
  return conjunction(nodes);
}

function conjunction(nodes: FilterNode[]): FilterNode | null {
  if (nodes.length === 0) return null;
  return nodes.length === 1 ? nodes[0]! : { kind: 'and', nodes };
}

function parseConnective(kind: 'and' | 'or', value: unknown, place: Place): FilterNode {
  count(place);
  if (!Array.isArray(value) || value.length === 0)
    refuse(place, 'an array with at least one filter is expected.');
  const nodes = value.map((entry, i) => {
    const inner = enter(place, `[${i}]`);
    return parseObject(entry, inner) ?? refuse(inner, 'an empty filter is not allowed inside $and or $or.');
  });
  return { kind, nodes };
}

function parseAttribute(attribute: string, value: unknown, place: Place): FilterNode[] {
  if (!attributePattern.test(attribute)) {
    refuse(
      place,
      'an attribute name has letters, digits, "-" and "_" only, with "list:" before it for lists.',
    );
  }
  if (typeof value === 'string') return [parseOperator(attribute, '$eq', value, place)];
  if (!isObject(value)) refuse(place, 'a string or an object such as {"$eq": "value"} is expected.');
  const operators = Object.entries(value);
  if (operators.length === 0) refuse(place, `at least one operator is expected: ${operatorList}.`);
  return operators.map(([operator, operand]) =>
    parseOperator(attribute, operator, operand, enter(place, `.${operator}`)),
  );
}

function parseOperator(attribute: string, name: string, operand: unknown, place: Place): FilterNode {
  count(place);
  const membership = memberships.get(name as '$in');
  if (membership !== undefined) {
    return { kind: 'member', attribute, operator: membership, values: parseValues(operand, place) };
  }
  const comparison = comparisons.get(name as '$eq');
  if (comparison === undefined) refuse(place, `"${name}" is not an operator; there are ${operatorList}.`);
  if (attribute.startsWith('list:')) refuse(place, 'a "list:" attribute takes only $in and $nin.');
  return { kind: 'compare', attribute, operator: comparison, value: parseValue(operand, place) };
}

function parseValues(operand: unknown, place: Place): string[] {
  if (!Array.isArray(operand)) refuse(place, 'an array of strings is expected.');
  if (operand.length > limits.filterValuesMax)
    refuse(place, `it lists more than ${limits.filterValuesMax} values.`);
  return operand.map((value, i) => parseValue(value, enter(place, `[${i}]`)));
}

function parseValue(value: unknown, place: Place): string {
  if (typeof value !== 'string') refuse(place, 'metadata values are strings, so a string is expected.');
  // No metadata hold one, and in UTF-8 it would become the replacement character, which they may hold.
  if (!value.isWellFormed()) refuse(place, 'the string contains a lone surrogate, which is not a character.');
  return value;
}
