import { unreachable } from '../core/assert.ts';
import type { FilterNode } from '../index/collection-index.ts';

const opposites = {
  eq: 'ne',
  ne: 'eq',
  in: 'nin',
  nin: 'in',
  exists: 'missing',
  missing: 'exists',
  and: 'or',
  or: 'and',
} as const;
const complements = { gt: 'lte', gte: 'lt', lt: 'gte', lte: 'gt' } as const;

/** Returns the filter that matches exactly the documents that `node` does not match. */
export function negateFilter(node: FilterNode): FilterNode {
  switch (node.kind) {
    case 'and':
    case 'or':
      return { kind: opposites[node.kind], nodes: node.nodes.map(negateFilter) };
    case 'member':
      return { ...node, operator: opposites[node.operator] };
    case 'existence':
      return { ...node, operator: opposites[node.operator] };
    case 'compare': {
      const { attribute, operator } = node;
      if (operator === 'eq' || operator === 'ne') return { ...node, operator: opposites[operator] };
      // An attribute without a value matches no order comparison, so it matches the negation of each.
      const missing: FilterNode = { kind: 'existence', attribute, operator: 'missing' };
      return { kind: 'or', nodes: [{ ...node, operator: complements[operator] }, missing] };
    }
    default:
      return unreachable(node);
  }
}
