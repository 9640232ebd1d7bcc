import { ApiKeyRegistry } from '../accounts/api-key-registry.ts';
import { Idempotency } from '../accounts/idempotency.ts';
import { Invitations } from '../accounts/invitations.ts';
import { MagicLinks } from '../accounts/magic-links.ts';
import { Mailer } from '../accounts/mailer.ts';
import { Memberships } from '../accounts/memberships.ts';
import { OrganizationDirectory } from '../accounts/organization-directory.ts';
import { Passkeys } from '../accounts/passkeys.ts';
import { Passwords } from '../accounts/passwords.ts';
import { SecondFactors } from '../accounts/second-factors.ts';
import { Sessions } from '../accounts/sessions.ts';
import { SignInFlows } from '../accounts/sign-in-flows.ts';
import { operatorEmail, UserAccounts } from '../accounts/user-accounts.ts';
import { UserDirectory } from '../accounts/user-directory.ts';
import type { Tiers } from '../admission/tiers.ts';
import { AuditLog } from '../audit/audit-log.ts';
import { DeniedAccessLog } from '../audit/denied-access-log.ts';
import type { Settings } from '../config/schema.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import { Sealer } from '../core/sealer.ts';
import type { Egress } from '../egress/egress.ts';
import { parseFilter } from '../search/filter.ts';
import type { DataDirectory } from '../storage/data-directory.ts';
import { deriveSecrets } from '../storage/installation-secrets.ts';
import type { Store } from '../storage/store.ts';
import { clock, random } from './runtime.ts';

/** Constructs the components that store users, organizations and API keys. */
export function buildAccountComponents(
  settings: Settings,
  { store, secrets }: DataDirectory,
  { tiers, egress, logger }: { readonly tiers: Tiers; readonly egress: Egress; readonly logger: Logger },
) {
  const audit = new AuditLog({ store, clock, random });
  // Only the current secret: sealed values are valid for minutes, and a rotation must invalidate forged ones.
  const sealer = new Sealer(deriveSecrets(secrets, 'sign-in').slice(0, 1), random);
  const memberships = new Memberships({ store, clock, audit });
  const invitations = new Invitations({
    store,
    clock,
    random,
    audit,
    secrets: deriveSecrets(secrets, 'invitations'),
    findRole: (membership) => memberships.roleOf(membership),
  });
  const organizations = new OrganizationDirectory({ store, clock, audit, tiers });
  const passwords = new Passwords({ store, clock, audit, sealer });
  const passkeys = new Passkeys({ store, clock, random, audit });
  const sessions = new Sessions({ store, clock, random, audit, logger });
  const secondFactors = new SecondFactors({
    store,
    clock,
    random,
    audit,
    sealer: new Sealer(deriveSecrets(secrets, 'second-factors'), random),
    adminPasswordHash: settings.adminPasswordHash,
  });
  const userAccounts = createUserAccounts(settings, {
    store,
    audit,
    invitations,
    passwords,
    passkeys,
    secondFactors,
    sessions,
  });
  const directory = new UserDirectory({
    store,
    clock,
    audit,
    organizations,
    userAccounts,
    sessions,
    memberships,
    secondFactors,
    passwords,
    passkeys,
  });
  return {
    audit,
    directory,
    secondFactors,
    passwords,
    passkeys,
    sealer,
    deniedAccessLog: new DeniedAccessLog({ audit, clock, logger }),
    organizations,
    keys: new ApiKeyRegistry({ store, clock, random, audit, checkFilter: parseFilter }),
    userAccounts,
    sessions,
    memberships,
    invitations,
    links: new MagicLinks({ store, clock, random, sealer }),
    flows: new SignInFlows({ sealer, clock }),
    idempotency: new Idempotency({ store, clock, random, secrets: deriveSecrets(secrets, 'replies') }),
    mail: createMailer(settings, { egress, logger }),
  };
}

function createUserAccounts(
  { signUp }: Settings,
  {
    store,
    audit,
    invitations,
    passwords,
    passkeys,
    secondFactors,
    sessions,
  }: {
    readonly store: Store;
    readonly audit: AuditLog;
    readonly invitations: Invitations;
    readonly passwords: Passwords;
    readonly passkeys: Passkeys;
    readonly secondFactors: SecondFactors;
    readonly sessions: Sessions;
  },
): UserAccounts {
  return new UserAccounts({
    store,
    clock,
    random,
    audit,
    canSignUp: async (email) =>
      signUp === 'open' || email === operatorEmail || (await invitations.listByEmail(email)).length > 0,
    endUnverifiedAccess: async ({ userId }) => [
      ...passwords.deleteOperations(userId),
      ...(await passkeys.deleteAllOperations(userId)),
      secondFactors.deleteOperation(userId),
      ...(await sessions.deleteAllOperations(userId, { actor: 'system', address: null })),
    ],
  });
}

function createMailer(
  { mailUrl, mailFrom }: Settings,
  { egress, logger }: { readonly egress: Egress; readonly logger: Logger },
): Mailer {
  return new Mailer({
    clock,
    random,
    url: mailUrl,
    from: mailFrom,
    egress,
    logger,
    print: (text) => process.stdout.write(`${text}\n`),
    closeMsMax: limits.mailCloseMsMax,
  });
}

export type AccountComponents = ReturnType<typeof buildAccountComponents>;
