import type { Credentials } from '../../src/access/credentials.ts';
import { Idempotency } from '../../src/accounts/idempotency.ts';
import { Invitations } from '../../src/accounts/invitations.ts';
import { KeyRing } from '../../src/accounts/key-ring.ts';
import { MagicLinks } from '../../src/accounts/magic-links.ts';
import { Memberships } from '../../src/accounts/memberships.ts';
import { OrganisationDirectory } from '../../src/accounts/organisation-directory.ts';
import { People } from '../../src/accounts/people.ts';
import { SecondFactors } from '../../src/accounts/second-factors.ts';
import { Sessions } from '../../src/accounts/sessions.ts';
import { SignInFlows } from '../../src/accounts/sign-in-flows.ts';
import { UserDirectory } from '../../src/accounts/user-directory.ts';
import type { Tiers } from '../../src/admission/tiers.ts';
import { AuditLog } from '../../src/audit/audit-log.ts';
import { Refusals } from '../../src/audit/refusals.ts';
import { systemChance } from '../../src/base/ids.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { Sealing } from '../../src/base/sealing.ts';
import { parseFilter } from '../../src/search/filter.ts';
import type { Store } from '../../src/store/store.ts';
import { FakeTime } from '../admission/fake-time.ts';
import { publishedTiers } from '../admission/tiers.ts';

/** Who does things in tests of rooms. */
export const byTest = { actor: 'the test', address: '192.0.2.1' } as const;

interface Given {
  readonly clock?: FakeTime;
  readonly tiers?: Tiers;
  readonly keysPerOrganisationMax?: number;
}

/** All rooms that keep people, organisations and keys, over one store. */
export function accountRooms(
  store: Store,
  { clock = new FakeTime(), tiers = publishedTiers, ...rest }: Given = {},
) {
  const chance = systemChance;
  const audit = new AuditLog({ store, clock, chance });
  const parts = { store, clock, chance, audit };
  const sealing = new Sealing([new Uint8Array(32).fill(9)], chance);
  const memberships = new Memberships(parts);
  const organisations = new OrganisationDirectory({ ...parts, tiers });
  const people = new People({ ...parts, mayJoin: async () => true });
  const sessions = new Sessions({ ...parts, logger: silentLogger });
  const secondFactors = new SecondFactors({ ...parts, sealing, adminPasswordHash: null });
  return {
    store,
    sealing,
    secondFactors,
    directory: new UserDirectory({
      ...parts,
      ...{ organisations, people, sessions, memberships, secondFactors },
    }),
    clock,
    chance,
    audit,
    refusals: new Refusals({ audit, clock, logger: silentLogger }),
    organisations,
    keys: new KeyRing({ ...parts, checkFilter: parseFilter, ...rest }),
    people,
    sessions,
    memberships,
    invitations: new Invitations({
      ...parts,
      secrets: [new Uint8Array(32).fill(7)],
      roleOf: (place) => memberships.roleOf(place),
    }),
    links: new MagicLinks({ ...parts, sealing }),
    flows: new SignInFlows({ sealing, clock }),
    idempotency: new Idempotency({ ...parts, secrets: [new Uint8Array(32).fill(8)] }),
  };
}

/** What a request with these headers shows of its sender. */
export function credentials(headers: Readonly<Record<string, string>>, method = 'POST'): Credentials {
  return { method, header: (name) => headers[name], ownOrigin: () => 'https://quarry.example.com' };
}

export function bearer(token: string): Credentials {
  return credentials({ authorization: `Bearer ${token}` });
}
