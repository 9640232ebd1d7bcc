import { AppError } from '../base/app-error.ts';
import { ReplyFailure } from './api.ts';

/** What the number that a command ends with means; `quarry --help` prints this table. */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  unreachable: 3,
  interrupted: 130,
} as const;

export const exitCodeMeanings: readonly (readonly [number, string])[] = [
  [exitCodes.done, 'done'],
  [exitCodes.failed, 'the server refused something, or a file could not be read or uploaded'],
  [exitCodes.usage, 'wrong usage or a wrong setting; nothing was done'],
  [exitCodes.unreachable, 'no server answered'],
  [exitCodes.interrupted, 'interrupted by Ctrl-C'],
];

/** The exit code and the sentence of an error that ends a command; null for an error that is our own mistake. */
export function outcomeOf(error: unknown): { exitCode: number; sentence: string } | null {
  if (error instanceof ReplyFailure) {
    const hint = error.status === 401 ? ' Name a key with --key or QUARRY_API_KEY.' : '';
    return { exitCode: exitCodes.failed, sentence: `${error.message}${hint}` };
  }
  if (!(error instanceof AppError)) return null;
  if (error.code === 'unavailable') return { exitCode: exitCodes.unreachable, sentence: error.message };
  const wrongUsage = error.code === 'bad_request' || error.code === 'invalid';
  return { exitCode: wrongUsage ? exitCodes.usage : exitCodes.failed, sentence: error.message };
}
