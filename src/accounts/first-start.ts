import type { Chance } from '../base/ids.ts';
import type { KeyRing } from './key-ring.ts';
import type { OrganisationDirectory } from './organisation-directory.ts';

export interface FirstStart {
  readonly organizationId: string;
  /** A key that was issued just now and will never be shown again; null when there is one already. */
  readonly newKey: string | null;
}

/**
 * What an installation needs before anybody can call it: one organisation without limits and one key. Run at every
 * start: it creates what is missing, lets a changed `operatorKey` (QUARRY_API_KEY) replace the earlier one, and
 * changes nothing otherwise. A crash between its steps is mended by the next start.
 */
export async function firstStart(options: {
  readonly organisations: OrganisationDirectory;
  readonly keys: KeyRing;
  readonly chance: Chance;
  readonly operatorKey: string | null;
}): Promise<FirstStart> {
  const { organisations, keys, chance, operatorKey } = options;
  const first = (await organisations.first()) ?? (await organisations.createFirst(chance.uuid()));
  const { organizationId } = first;
  if (operatorKey === null) keys.recallOperatorKey(organizationId);
  else await keys.setOperatorKey(organizationId, operatorKey);
  if ((await keys.list(organizationId)).length > 0) return { organizationId, newKey: null };
  const wanted = { organizationId, name: 'First key', permission: 'all', createdBy: null } as const;
  const issued = await keys.issue(wanted, { actor: 'system', address: null });
  return { organizationId, newKey: issued.secret };
}
