import { rejectCrossSite } from '../../auth/credentials.ts';
import { AppError } from '../../core/app-error.ts';
import { credentialsOf, handlerOf, type RequestContext } from './request-context.ts';

/**
 * Rejects requests to account routes that a browser may send without the intent of its user. Errors: 405 for
 * HEAD, 403 for a page of another site.
 */
export function checkBrowserRequest(context: RequestContext): void {
  const { route } = handlerOf(context);
  if (route.kind !== 'account') return;
  // HEAD must not consume a sign-in link.
  if (context.exchange.method === 'HEAD') throw headNotAllowedError();
  if (route.sameSiteOnly === true) rejectCrossSite(credentialsOf(context));
}

function headNotAllowedError(): AppError {
  return new AppError('method_not_allowed', 'Method HEAD is not allowed. Use GET.', {
    headers: { allow: 'GET' },
  });
}
