import { AppError } from '../core/app-error.ts';
import { ApiResponseError } from './api-client.ts';

/** Exit codes of the command line; `quarry --help` prints this table. */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  unreachable: 3,
  warnings: 4,
  interrupted: 130,
} as const;

export const exitCodeMeanings: readonly (readonly [number, string])[] = [
  [exitCodes.done, 'done'],
  [
    exitCodes.failed,
    'the server rejected a request, a file could not be read or uploaded, or a check failed',
  ],
  [exitCodes.usage, 'invalid usage or invalid setting; nothing was changed'],
  [exitCodes.unreachable, 'server not reachable'],
  [exitCodes.warnings, 'only warnings: `quarry doctor`, or `quarry upgrade --check` without a recent backup'],
  [exitCodes.interrupted, 'interrupted by Ctrl-C'],
];

/** Returns the exit code and message of an error that ends a command; null for a bug. */
export function toExitOutcome(error: unknown): { exitCode: number; message: string } | null {
  if (error instanceof ApiResponseError) return { exitCode: exitCodes.failed, message: error.message };
  if (!(error instanceof AppError)) return null;
  if (error.code === 'unavailable') return { exitCode: exitCodes.unreachable, message: error.message };
  const isWrongUsage = error.code === 'bad_request' || error.code === 'invalid';
  return { exitCode: isWrongUsage ? exitCodes.usage : exitCodes.failed, message: error.message };
}
