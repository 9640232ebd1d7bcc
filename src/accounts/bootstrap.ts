import type { Random } from '../core/ids.ts';
import type { ApiKeyRegistry } from './api-key-registry.ts';
import type { OrganizationDirectory } from './organization-directory.ts';

export interface BootstrapResult {
  readonly organizationId: string;
  /** A key that was issued just now and will never be shown again; null when there is one already. */
  readonly newKey: string | null;
}

/**
 * What an installation needs before anybody can call it: one organisation without limits and one key. Run at every
 * start: it creates what is missing, lets a changed `operatorKey` (QUARRY_API_KEY) replace the earlier one, and
 * changes nothing otherwise. A crash between its steps is mended by the next start.
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
