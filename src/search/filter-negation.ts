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
  gt: 'ngt',
  ngt: 'gt',
  gte: 'ngte',
  ngte: 'gte',
  lt: 'nlt',
  nlt: 'lt',
  lte: 'nlte',
  nlte: 'lte',
  within: 'outside',
  outside: 'within',
} as const;

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
    case 'compare':
      return { ...node, operator: opposites[node.operator] };
    case 'area':
      return { ...node, operator: opposites[node.operator] };
    case 'version':
      return { ...node, operator: node.operator === 'in' ? 'not_in' : 'in' };
    default:
      return unreachable(node);
  }
}
