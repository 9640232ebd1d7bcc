import type { GetOrganizationInfoResponse } from '../../../src/schemas/accounts.ts';
import { callApi } from './api-call.ts';
import { organizationId } from './session.ts';

/** Account operations for the selected organization. */

export function getOrganizationInfo(abort: AbortSignal): Promise<GetOrganizationInfoResponse> {
  const request = { organization_id: organizationId() };
  return callApi('/api/organizations/get-info', request, { signal: abort });
}
