import { AppError, type NonMember } from '../../core/app-error.ts';
import { describedError } from '../../core/described-error.ts';
import { shuttingDownError } from '../../core/shutting-down-error.ts';
import { acceptsHtml, errorPage } from '../error-page.ts';
import { ClientDisconnectedError, type Reply } from '../exchange.ts';
import { resolveClientAddress } from '../origin.ts';
import { errorReply, internalErrorReply } from '../replies.ts';
import { apiOperationPath } from '../routes/route-description.ts';
import type { RequestContext } from './request-context.ts';

/** Converts the error of a step to its reply; null when the client has disconnected. */
export function toErrorReply(context: RequestContext, error: unknown): Reply | null {
  if (error instanceof ClientDisconnectedError) return null;
  if (error instanceof AppError) return appErrorReply(context, error);
  logFailure(context, error, 'request failed');
  // While draining, a dependency of the call may close before the call ends: let the client retry elsewhere.
  return context.components.activeRequests.isDraining
    ? appErrorReply(context, shuttingDownError())
    : internalErrorReply(context.requestId, context.route?.errorFormat);
}

function appErrorReply(context: RequestContext, error: AppError): Reply {
  const { privateDetails, cause } = error.options;
  const { nonMember = null } = error.options;
  if (error.status === 401 || error.status === 403 || nonMember !== null) reportDenied(context, nonMember);
  if (privateDetails || error.status >= 500) {
    const fields = { ...logFields(context), code: error.code, ...privateDetails };
    context.components.options.logger.warn(
      cause === undefined ? fields : { ...fields, cause: describedError(cause, !isZeroRetention(context)) },
      'request rejected',
    );
  }
  const reply = errorReply(error, context.route?.errorFormat);
  return acceptsHtml(context.exchange) ? errorPage(error, reply) : reply;
}

function reportDenied(context: RequestContext, nonMember: NonMember | null): void {
  const { exchange, principal, route, components } = context;
  const { hooks, settings } = components.options;
  const credential = exchange.header('authorization') ?? exchange.header('cookie');
  if (route === null || credential === undefined) return;
  const address = resolveClientAddress(exchange, settings);
  hooks?.onDenied?.({
    principal,
    nonMember,
    requiredAccess: route.access,
    address,
    name: apiOperationPath(route.path),
  });
}

export function logFailure(context: RequestContext, error: unknown, message: string): void {
  const details = describedError(error, !isZeroRetention(context));
  context.components.options.logger.error({ ...logFields(context), error: details }, message);
}

/** Logs a failure after the call was aborted, unless it is an AppError or the abort itself. */
export function logLateFailure(context: RequestContext, error: unknown): void {
  const isExpected = error instanceof AppError || error instanceof ClientDisconnectedError;
  if (!isExpected && error !== context.deadline.reason) logFailure(context, error, 'request failed');
}

function logFields({ requestId, route }: RequestContext) {
  return { requestId, operation: route?.operation ?? 'none' };
}

/**
 * Whether error details must stay out of the log. The owner of a file or image URL is unknown here, so zero
 * data retention is assumed.
 */
function isZeroRetention({ principal, route }: RequestContext): boolean {
  if (principal?.kind === 'organization') return principal.zdr;
  return route?.kind === 'file' || route?.kind === 'image';
}
