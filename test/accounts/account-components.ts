import { ApiKeyRegistry } from '../../src/accounts/api-key-registry.ts';
import { Idempotency } from '../../src/accounts/idempotency.ts';
import { Invitations } from '../../src/accounts/invitations.ts';
import { MagicLinks } from '../../src/accounts/magic-links.ts';
import { Memberships } from '../../src/accounts/memberships.ts';
import { OrganizationDirectory } from '../../src/accounts/organization-directory.ts';
import { Passkeys } from '../../src/accounts/passkeys.ts';
import { Passwords } from '../../src/accounts/passwords.ts';
import { SecondFactors } from '../../src/accounts/second-factors.ts';
import { Sessions } from '../../src/accounts/sessions.ts';
import { SignInFlows } from '../../src/accounts/sign-in-flows.ts';
import { UserAccounts } from '../../src/accounts/user-accounts.ts';
import { UserDirectory } from '../../src/accounts/user-directory.ts';
import type { Tiers } from '../../src/admission/tiers.ts';
import { AuditLog } from '../../src/audit/audit-log.ts';
import { DeniedAccessLog } from '../../src/audit/denied-access-log.ts';
import type { Credentials } from '../../src/auth/credentials.ts';
import { systemRandom } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { Sealer } from '../../src/core/sealer.ts';
import { parseFilter } from '../../src/search/filter.ts';
import type { Store } from '../../src/storage/store.ts';
import { FakeClock } from '../admission/fake-clock.ts';
import { publishedTiers } from '../admission/tiers.ts';

/** Default actor in tests of the account modules. */
export const testActor = { actor: 'the test', address: '192.0.2.1' } as const;

interface AccountComponentsOptions {
  readonly clock?: FakeClock;
  readonly tiers?: Tiers;
  readonly keysPerOrganizationMax?: number;
}

/** All modules that store users, organizations and keys, over one store. */
export function accountComponents(
  store: Store,
  { clock = new FakeClock(), tiers = publishedTiers, ...rest }: AccountComponentsOptions = {},
) {
  const random = systemRandom;
  const audit = new AuditLog({ store, clock, random });
  const parts = { store, clock, random, audit };
  const sealer = new Sealer([new Uint8Array(32).fill(9)], random);
  const memberships = new Memberships(parts);
  const organizations = new OrganizationDirectory({ ...parts, tiers });
  const endUnverifiedAccess = async () => [];
  const userAccounts = new UserAccounts({ ...parts, canSignUp: async () => true, endUnverifiedAccess });
  const sessions = new Sessions({ ...parts, logger: silentLogger });
  const secondFactors = new SecondFactors({ ...parts, sealer, adminPasswordHash: null });
  const passwords = new Passwords({ ...parts, sealer });
  const passkeys = new Passkeys(parts);
  return {
    store,
    sealer,
    passwords,
    passkeys,
    secondFactors,
    directory: new UserDirectory({
      ...parts,
      organizations,
      userAccounts,
      sessions,
      memberships,
      secondFactors,
      passwords,
      passkeys,
    }),
    clock,
    random,
    audit,
    deniedAccessLog: new DeniedAccessLog({ audit, clock, logger: silentLogger }),
    organizations,
    keys: new ApiKeyRegistry({ ...parts, checkFilter: parseFilter, ...rest }),
    userAccounts,
    sessions,
    memberships,
    invitations: new Invitations({
      ...parts,
      secrets: [new Uint8Array(32).fill(7)],
      findRole: (membership) => memberships.roleOf(membership),
    }),
    links: new MagicLinks({ ...parts, sealer }),
    flows: new SignInFlows({ sealer, clock }),
    idempotency: new Idempotency({ ...parts, secrets: [new Uint8Array(32).fill(8)] }),
  };
}

/** Credentials of a request with these headers. */
export function credentials(headers: Readonly<Record<string, string>>, method = 'POST'): Credentials {
  return { method, header: (name) => headers[name], ownOrigin: () => 'https://quarry.example.com' };
}

export function bearer(token: string): Credentials {
  return credentials({ authorization: `Bearer ${token}` });
}
