import { unreachable } from '../core/assert.ts';
import type { FilterNode } from '../index/collection-index.ts';

type Metadata = Readonly<Record<string, string | readonly string[]>>;
type Comparison = Extract<FilterNode, { kind: 'compare' }>;
type Membership = Extract<FilterNode, { kind: 'member' }>;

/**
 * Whether metadata match a filter, with the semantics of the shards: a missing attribute has no value, so
 * only `$ne` and `$nin` match it, and strings compare by their UTF-8 bytes.
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
      return (
        (value !== undefined && (typeof value === 'string' || value.length > 0)) ===
        (filter.operator === 'exists')
      );
    }
    default:
      return unreachable(filter);
  }
}

/** Reads own properties only: `constructor` is an attribute name like any other. */
function ownValue(metadata: Metadata, attribute: string): string | readonly string[] | undefined {
  return Object.hasOwn(metadata, attribute) ? metadata[attribute] : undefined;
}

function evaluateComparison(
  { operator, value }: Comparison,
  actual: string | readonly string[] | undefined,
): boolean {
  if (typeof actual !== 'string') return operator === 'ne';
  const order = actual === value ? 0 : Buffer.compare(Buffer.from(actual), Buffer.from(value));
  switch (operator) {
    case 'eq':
      return order === 0;
    case 'ne':
      return order !== 0;
    case 'gt':
      return order > 0;
    case 'gte':
      return order >= 0;
    case 'lt':
      return order < 0;
    case 'lte':
      return order <= 0;
    default:
      return unreachable(operator);
  }
}

function evaluateMembership(
  { operator, values }: Membership,
  actual: string | readonly string[] | undefined,
): boolean {
  const texts = typeof actual === 'string' ? [actual] : (actual ?? []);
  const isIn = texts.some((text) => values.includes(text));
  return operator === 'in' ? isIn : !isIn;
}
