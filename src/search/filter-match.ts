import { AssertionError, unreachable } from '../core/assert.ts';
import { type GeoPoint, isInArea } from '../core/geo.ts';
import { compareInstants, parseInstant } from '../core/instants.ts';
import type { FilterNode, FilterValue, IndexValue } from '../index/encoding.ts';

type Metadata = Readonly<Record<string, IndexValue>>;
type Comparison = Extract<FilterNode, { kind: 'compare' }>;
type Membership = Extract<FilterNode, { kind: 'member' }>;

/**
 * Whether metadata matches a filter, with the semantics of the shards: a missing attribute has no value, so
 * only `$ne`, `$nin`, `$exists: false` and negations match it, and strings compare by their UTF-8 bytes. A
 * value of another type than the operand is like a missing one.
 */
export function matchesFilter(filter: FilterNode, metadata: Metadata): boolean {
  switch (filter.kind) {
    case 'and':
      return filter.nodes.every((node) => matchesFilter(node, metadata));
    case 'or':
      return filter.nodes.some((node) => matchesFilter(node, metadata));
    case 'compare':
      return evaluateComparison(filter, ownValue(metadata, filter.attribute));
    case 'member':
      return evaluateMembership(filter, ownValue(metadata, filter.attribute));
    case 'existence': {
      const value = ownValue(metadata, filter.attribute);
      // An empty list has no value.
      const exists = value !== undefined && !(isList(value) && value.length === 0);
      return exists === (filter.operator === 'exists');
    }
    case 'area': {
      const value = ownValue(metadata, filter.attribute);
      const isWithin = isPoint(value) && isInArea(value, filter.area);
      return isWithin === (filter.operator === 'within');
    }
    case 'version':
      throw new AssertionError('metadata has no version');
    default:
      return unreachable(filter);
  }
}

/** Reads own properties only: `constructor` is an attribute name like any other. */
function ownValue(metadata: Metadata, attribute: string): IndexValue | undefined {
  return Object.hasOwn(metadata, attribute) ? metadata[attribute] : undefined;
}

function isList(value: IndexValue | undefined): value is readonly string[] {
  return Array.isArray(value);
}

function isPoint(value: IndexValue | undefined): value is GeoPoint {
  return typeof value === 'object' && !isList(value);
}

function evaluateComparison({ operator, value }: Comparison, actual: IndexValue | undefined): boolean {
  const order = actual === undefined ? null : compareValue(actual, value);
  switch (operator) {
    case 'eq':
      return order === 0;
    case 'ne':
      return order !== 0;
    case 'gt':
      return order !== null && order > 0;
    case 'gte':
      return order !== null && order >= 0;
    case 'lt':
      return order !== null && order < 0;
    case 'lte':
      return order !== null && order <= 0;
    case 'ngt':
      return order === null || order <= 0;
    case 'ngte':
      return order === null || order < 0;
    case 'nlt':
      return order === null || order >= 0;
    case 'nlte':
      return order === null || order > 0;
    default:
      return unreachable(operator);
  }
}

/** Returns the order of a value relative to an operand; null if they have different types. */
function compareValue(actual: IndexValue, operand: FilterValue): number | null {
  switch (typeof operand) {
    case 'string':
      if (typeof actual !== 'string') return null;
      return actual === operand ? 0 : Buffer.compare(Buffer.from(actual), Buffer.from(operand));
    case 'number':
      return typeof actual === 'number' ? Math.sign(actual - operand) : null;
    case 'boolean':
      return typeof actual === 'boolean' ? Number(actual) - Number(operand) : null;
    default: {
      const instant = typeof actual === 'string' ? parseInstant(actual) : null;
      return instant === null ? null : compareInstants(instant, operand);
    }
  }
}

function evaluateMembership({ operator, values }: Membership, actual: IndexValue | undefined): boolean {
  const items = isList(actual) ? actual : actual === undefined ? [] : [actual];
  const isIn = items.some((item) => values.some((value) => isEqual(item, value)));
  return operator === 'in' ? isIn : !isIn;
}

function isEqual(item: IndexValue, value: FilterValue): boolean {
  return typeof value === 'object' ? compareValue(item, value) === 0 : item === value;
}
