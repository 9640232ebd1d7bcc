import type { GetOrganizationInfoResponse } from '../../../src/schemas/accounts.ts';
import { callApi } from './api-call.ts';
import { organizationId } from './session.ts';

/** Operations of the account side, in the organisation that was chosen. */

export function getOrganizationInfo(abort: AbortSignal): Promise<GetOrganizationInfoResponse> {
  const request = { organization_id: organizationId() };
  return callApi('/api/organizations/get-info', request, { signal: abort });
}
