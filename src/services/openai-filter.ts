import { AppError } from '../core/app-error.ts';
import { isObject } from '../core/is-object.ts';
import { limits } from '../core/limits.ts';

const comparisons = new Set(['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin']);

/**
 * Converts a filter of OpenAI vector stores to a metadata filter, which `parseFilter` checks further. Errors:
 * 400 that names the position of the problem.
 */
export function toMetadataFilter(filter: unknown): unknown {
  return filter === undefined || filter === null ? null : convert(filter, 'filters', 0);
}

function convert(filter: unknown, path: string, depth: number): unknown {
  if (depth > limits.filterDepthMax)
    reject(path, `it is nested more than ${limits.filterDepthMax} levels deep`);
  if (!isObject(filter)) reject(path, 'expected an object');
  const { type, key, value, filters } = filter;
  if (type === 'and' || type === 'or') {
    if (!Array.isArray(filters) || filters.length === 0) reject(path, 'expected a list "filters"');
    return { [`$${type}`]: filters.map((item, i) => convert(item, `${path}.filters[${i}]`, depth + 1)) };
  }
  if (typeof type !== 'string' || !comparisons.has(type))
    reject(path, `"type" must be one of ${[...comparisons].join(', ')}, and, or`);
  if (typeof key !== 'string' || key.startsWith('$')) reject(path, '"key" must be the name of an attribute');
  return { [key]: { [`$${type}`]: value } };
}

function reject(path: string, problem: string): never {
  throw new AppError('bad_request', `The filter is not valid at ${path.slice(0, 200)}: ${problem}.`);
}
