import { unreachable } from '../base/assert.ts';
import type { FilterNode } from '../engine/collection-index.ts';

type Metadata = Readonly<Record<string, string | readonly string[]>>;
type Comparison = Extract<FilterNode, { kind: 'compare' }>;
type Membership = Extract<FilterNode, { kind: 'member' }>;

/**
 * Whether metadata match a filter, as the shards decide it for what they hold: a missing attribute is no value, so that
 * only `$ne` and `$nin` are true of it, and strings compare by their UTF-8 bytes.
 */
export function matchesFilter(filter: FilterNode, metadata: Metadata): boolean {
  switch (filter.kind) {
    case 'and':
      return filter.nodes.every((node) => matchesFilter(node, metadata));
    case 'or':
      return filter.nodes.some((node) => matchesFilter(node, metadata));
    case 'compare':
      return compares(filter, givenValue(metadata, filter.attribute));
    case 'member':
      return isMember(filter, givenValue(metadata, filter.attribute));
    default:
      return unreachable(filter);
  }
}

/** Only what the metadata have themselves: `constructor` is a name like any other. */
function givenValue(metadata: Metadata, attribute: string): string | readonly string[] | undefined {
  return Object.hasOwn(metadata, attribute) ? metadata[attribute] : undefined;
}

function compares({ operator, value }: Comparison, given: string | readonly string[] | undefined): boolean {
  if (typeof given !== 'string') return operator === 'ne';
  const order = given === value ? 0 : Buffer.compare(Buffer.from(given), Buffer.from(value));
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

function isMember({ operator, values }: Membership, given: string | readonly string[] | undefined): boolean {
  const texts = typeof given === 'string' ? [given] : (given ?? []);
  const isIn = texts.some((text) => values.includes(text));
  return operator === 'in' ? isIn : !isIn;
}
