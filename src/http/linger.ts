import { limits } from '../core/limits.ts';
import type { BodyQueue } from './body-queue.ts';

/**
 * Whether the connection must end after the reply because the body is still arriving. A short rest is
 * discarded and the connection is kept. For a long or unknown one the reply is sent, the rest is discarded
 * for a bounded time, and the connection ends: closing at once would reset it, and the client might never
 * read the error.
 */
export function shouldLinger(body: BodyQueue): boolean {
  if (body.isFinished) return false;
  return body.declaredBytes === null || body.declaredBytes > limits.discardedBodyBytesMax;
}
