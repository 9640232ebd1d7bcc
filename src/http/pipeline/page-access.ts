import { isLocalRequest } from '../origin.ts';
import type { PageRoute } from '../routes/route.ts';
import { handlerOf, type RequestContext } from './request-context.ts';

/** Pages served under any load. */
const probePages: ReadonlySet<PageRoute['page']> = new Set(['healthz', 'readyz', 'metrics']);

/**
 * Whether the request is for a page that needs no credential: all pages, but `/metrics` only locally or on its own
 * address.
 */
export function isOpenPage(context: RequestContext): boolean {
  const { route } = handlerOf(context);
  if (route.kind !== 'page') return false;
  if (route.page !== 'metrics' || context.listener === 'metrics') return true;
  return isLocalRequest(context.exchange, context.components.options.settings);
}

/** Whether the request is a probe, which is answered under any load. */
export function isProbe(context: RequestContext): boolean {
  const { route } = handlerOf(context);
  return route.kind === 'page' && probePages.has(route.page) && isOpenPage(context);
}
