import type {
  BindMarketplaceResponse,
  GetMarketplaceSignUpResponse,
} from '../../../src/schemas/marketplaces.ts';
import { callApi } from './api-call.ts';

/**
 * Reads a pending sign-up from a marketplace. Errors: 404 if it was started in another browser or has expired.
 */
export function getMarketplaceSignUp(
  signUp: string,
  abort: AbortSignal,
): Promise<GetMarketplaceSignUpResponse> {
  return callApi('/api/marketplaces/get-sign-up', { sign_up: signUp }, { signal: abort });
}

export function bindMarketplace(
  signUp: string,
  organizationId: string,
  setVariables: boolean,
): Promise<BindMarketplaceResponse> {
  return callApi('/api/marketplaces/bind', {
    sign_up: signUp,
    organization_id: organizationId,
    set_variables: setVariables,
  });
}
