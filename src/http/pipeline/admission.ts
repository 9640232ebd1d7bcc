import { tooManyRequestsError } from '../../admission/concurrency-limiter.ts';
import { shuttingDownError } from '../../core/shutting-down-error.ts';
import { notReadyError } from './availability-errors.ts';
import { isOpenPage, isProbe } from './page-access.ts';
import { handlerOf, ownerOf, type RequestContext } from './request-context.ts';

/** Longest wait for the start of the server, after which clients are told to try again. */
const startMsMax = 30_000;

/** Pages are served while the server starts and stops. Errors: 503. */
export async function checkAvailability(context: RequestContext): Promise<void> {
  const { options } = context.components;
  if (handlerOf(context).route.kind === 'page') return;
  const { started = null } = options;
  if (started !== null && options.notReadyReason() !== null) await settlesWithin(started, startMsMax);
  checkRunning(context);
}

function checkRunning({ components: { options, activeRequests, concurrency } }: RequestContext): void {
  if (activeRequests.isDraining) throw shuttingDownError();
  const reason = options.notReadyReason();
  if (reason !== null) throw notReadyError(reason);
  if (concurrency.isFull(activeRequests.size - 1)) throw tooManyRequestsError();
}

/** Resolves when the promise settles, or after `msMax`. */
function settlesWithin(promise: Promise<void>, msMax: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, msMax);
    const settle = () => {
      clearTimeout(timer);
      resolve();
    };
    promise.then(settle, settle);
  });
}

/** Acquires a concurrency slot of the owner, which `RequestHandler` releases after the reply. Errors: 503. */
export function acquireSlot(context: RequestContext): void {
  const { options, activeRequests, concurrency } = context.components;
  if (isProbe(context)) return;
  const owner = ownerOf(context);
  concurrency.acquire(owner, activeRequests.size - 1);
  context.slotOwner = owner;
  context.yieldToEventLoop = options.scheduler.createYield(owner);
}

/** Errors: those of `RequestHooks.admit`. */
export function admit(context: RequestContext): void {
  if (isOpenPage(context)) return;
  context.components.options.hooks?.admit?.(context.principal, handlerOf(context).route.operation);
}
