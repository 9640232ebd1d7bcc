import { limits } from '../core/limits.ts';
import type { BodyQueue } from './body-queue.ts';

/**
 * What to do with a body that is still arriving when its reply is ready. A short rest is discarded and the connection
 * lives on. For a long or unknown one the reply goes out, the rest is discarded for a bounded time, and the
 * connection ends: closing at once would reset it, and the client might never see why it was refused.
 */
export function shouldLinger(body: BodyQueue): boolean {
  if (body.isFinished) return false;
  return body.declaredBytes === null || body.declaredBytes > limits.discardedBodyBytesMax;
}
