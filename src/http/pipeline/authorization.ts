import { authorize as findDenial } from '../../auth/authorize.ts';
import { isOpenPage } from './page-access.ts';
import { credentialsOf, handlerOf, type RequestContext } from './request-context.ts';

/** Errors: those of `RequestAuthenticator.authenticate`. */
export function authenticate(context: RequestContext): void {
  if (isOpenPage(context)) return;
  const { authenticator } = context.components.options;
  const { access } = handlerOf(context).route;
  context.principal = authenticator.authenticate(credentialsOf(context), access);
}

/** Errors: 401, 403. */
export function authorize(context: RequestContext): void {
  if (isOpenPage(context)) return;
  const denial = findDenial(context.principal, handlerOf(context).route);
  if (denial !== null) throw denial;
}
