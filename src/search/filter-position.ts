import { AppError } from '../core/app-error.ts';
import { limits } from '../core/limits.ts';
import type { FieldTypes } from '../core/metadata-types.ts';

/** Place in a filter that is being parsed. */
export interface FilterPosition {
  /** Current path in the user's notation: `filter.$and[0].year`. */
  readonly path: string;
  readonly depth: number;
  readonly state: { nodes: number; readonly schema: FieldTypes | undefined };
}

export function reject(position: FilterPosition, problem: string): never {
  throw new AppError('bad_request', `The filter is not valid at ${abbreviate(position.path)}: ${problem}`);
}

function abbreviate(path: string): string {
  return path.length <= 200 ? path : `${path.slice(0, 100)}…${path.slice(-99)}`;
}

export function descend(position: FilterPosition, step: string): FilterPosition {
  const next = { path: position.path + step, depth: position.depth + 1, state: position.state };
  if (next.depth > limits.filterDepthMax)
    reject(next, `it is nested more than ${limits.filterDepthMax} levels deep.`);
  return next;
}

export function countCondition(position: FilterPosition): void {
  position.state.nodes += 1;
  if (position.state.nodes > limits.filterNodesMax) {
    reject(position, `it has more than ${limits.filterNodesMax} conditions.`);
  }
}
