import type { GetOrganizationInfoResponse } from '../../../src/schemas/accounts.ts';
import { call } from './call.ts';
import { organizationId } from './session.ts';

/** Operations of the account side, in the organisation that was chosen. */

export function organizationInfo(abort: AbortSignal): Promise<GetOrganizationInfoResponse> {
  const request = { organization_id: organizationId() };
  return call('/api/organizations/get-info', request, { signal: abort });
}
