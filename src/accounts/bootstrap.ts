import type { Random } from '../core/ids.ts';
import type { ApiKeyRegistry } from './api-key-registry.ts';
import type { OrganizationDirectory } from './organization-directory.ts';

export interface BootstrapResult {
  readonly organizationId: string;
  /** Key issued by this call, which is never shown again; null if a key already exists. */
  readonly newKey: string | null;
}

/**
 * Creates what an installation needs before its first request: one organization without limits and one key.
 * Runs at every start: creates what is missing, replaces the previous operator key if `operatorKey`
 * (QUARRY_API_KEY) changed, and changes nothing otherwise. The next start completes a run that a crash
 * interrupted.
 */
export async function bootstrapInstallation(options: {
  readonly organizations: OrganizationDirectory;
  readonly keys: ApiKeyRegistry;
  readonly random: Random;
  readonly operatorKey: string | null;
}): Promise<BootstrapResult> {
  const { organizations, keys, random, operatorKey } = options;
  const first = (await organizations.findFirst()) ?? (await organizations.createFirst(random.uuid()));
  const { organizationId } = first;
  if (operatorKey === null) keys.loadOperatorKey(organizationId);
  else await keys.setOperatorKey(organizationId, operatorKey);
  if ((await keys.list(organizationId)).length > 0) return { organizationId, newKey: null };
  const input = { organizationId, name: 'First key', permission: 'all', createdBy: null } as const;
  const issued = await keys.issue(input, { actor: 'system', address: null });
  return { organizationId, newKey: issued.secret };
}
