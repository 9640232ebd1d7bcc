import { ApiKeyRegistry } from '../accounts/api-key-registry.ts';
import { Idempotency } from '../accounts/idempotency.ts';
import {
  createGitHubProvider,
  createOpenIdProvider,
  type ProviderSettings,
} from '../accounts/identity-providers.ts';
import { Invitations } from '../accounts/invitations.ts';
import { MagicLinks } from '../accounts/magic-links.ts';
import { Mailer } from '../accounts/mailer.ts';
import { MembershipAuthorizer } from '../accounts/membership-authorizer.ts';
import { Memberships } from '../accounts/memberships.ts';
import { OrganizationDirectory } from '../accounts/organization-directory.ts';
import { OrganizationOperations } from '../accounts/organization-operations.ts';
import type { OrganizationRemoval } from '../accounts/organization-removal.ts';
import { ProviderOperations } from '../accounts/provider-operations.ts';
import { SecondFactorSignIn, type SecondFactorSignInOptions } from '../accounts/second-factor-sign-in.ts';
import { SecondFactors } from '../accounts/second-factors.ts';
import { Sessions } from '../accounts/sessions.ts';
import { SignInFlows } from '../accounts/sign-in-flows.ts';
import { SignInOperations } from '../accounts/sign-in-operations.ts';
import { operatorEmail, UserAccounts } from '../accounts/user-accounts.ts';
import { UserDirectory } from '../accounts/user-directory.ts';
import { UserOperations } from '../accounts/user-operations.ts';
import { SlidingWindowLimiter } from '../admission/sliding-window-limiter.ts';
import type { Tiers } from '../admission/tiers.ts';
import { AuditLog } from '../audit/audit-log.ts';
import { DeniedAccessLog } from '../audit/denied-access-log.ts';
import type { Billing } from '../billing/billing.ts';
import type { Settings } from '../config/schema.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import { Sealer } from '../core/sealer.ts';
import type { Egress } from '../egress/egress.ts';
import type { AccountServices } from '../http/account-route.ts';
import type { MaintenanceTask } from '../ingest/maintenance.ts';
import type { Marketplaces } from '../marketplaces/marketplaces.ts';
import { parseFilter } from '../search/filter.ts';
import type { DataDirectory } from '../storage/data-directory.ts';
import type { ErasureClock } from '../storage/erasure-clock.ts';
import { deriveSecrets } from '../storage/installation-secrets.ts';
import type { createStorageUsageReader } from './quotas.ts';
import { clock, home, random } from './runtime.ts';

/** Components of users, organizations and API keys. */

/** Constructs the components that store users, organizations and API keys. */
export function buildAccountComponents(
  settings: Settings,
  { store, secrets }: DataDirectory,
  { tiers, egress, logger }: { readonly tiers: Tiers; readonly egress: Egress; readonly logger: Logger },
) {
  const audit = new AuditLog({ store, clock, random });
  const shared = { store, clock, random, audit };
  // Only the current secret: sealed values are valid for minutes, and a rotation must invalidate forged ones.
  const sealer = new Sealer(deriveSecrets(secrets, 'sign-in').slice(0, 1), random);
  const memberships = new Memberships(shared);
  const invitations = new Invitations({
    ...shared,
    secrets: deriveSecrets(secrets, 'invitations'),
    findRole: (membership) => memberships.roleOf(membership),
  });
  const canSignUp = async (email: string) =>
    settings.signUp === 'open' ||
    email === operatorEmail ||
    (await invitations.listByEmail(email)).length > 0;
  const organizations = new OrganizationDirectory({ ...shared, tiers });
  const userAccounts = new UserAccounts({ ...shared, canSignUp });
  const sessions = new Sessions({ ...shared, logger });
  const secondFactors = new SecondFactors({
    ...shared,
    sealer: new Sealer(deriveSecrets(secrets, 'second-factors'), random),
    adminPasswordHash: settings.adminPasswordHash,
  });
  return {
    audit,
    directory: new UserDirectory({
      ...shared,
      ...{ organizations, userAccounts, sessions, memberships, secondFactors },
    }),
    secondFactors,
    sealer,
    deniedAccessLog: new DeniedAccessLog({ audit, clock, logger }),
    organizations,
    keys: new ApiKeyRegistry({ ...shared, checkFilter: parseFilter }),
    userAccounts,
    sessions,
    memberships,
    invitations,
    links: new MagicLinks({ ...shared, sealer }),
    flows: new SignInFlows({ sealer, clock }),
    idempotency: new Idempotency({ ...shared, secrets: deriveSecrets(secrets, 'replies') }),
    mail: new Mailer({
      ...shared,
      url: settings.mailUrl,
      from: settings.mailFrom,
      egress,
      logger,
      print: (text) => process.stdout.write(`${text}\n`),
      closeMsMax: limits.mailCloseMsMax,
    }),
  };
}

export type AccountComponents = ReturnType<typeof buildAccountComponents>;

/** Limits of changes per user. Each change adds an entry to the audit log, which is kept for long. */
const changesMax = [
  { ms: 60_000, max: 240 },
  { ms: 3_600_000, max: 2_000 },
] as const;

/** Limits per user of operations that revoke access. */
const revocationsMax = [
  { ms: 60_000, max: 600 },
  { ms: 3_600_000, max: 6_000 },
] as const;

interface AccountDependencies {
  readonly data: DataDirectory;
  readonly components: AccountComponents;
  readonly removal: OrganizationRemoval;
  readonly installation: { readonly url: string; readonly organizationId: string };
  readonly storageOf: ReturnType<typeof createStorageUsageReader>;
  readonly billing: Billing;
  readonly marketplaces: Marketplaces;
  readonly egress: Egress;
}

export function buildAccounts(
  settings: Settings,
  { data, components, removal, installation, storageOf, billing, marketplaces, egress }: AccountDependencies,
): AccountServices {
  const publicUrl = () => installation.url;
  const authorizer = new MembershipAuthorizer(components);
  const organizations = new OrganizationOperations({
    ...components,
    authorizer,
    clock,
    random,
    publicUrl,
    ownedOrganizationsMax: settings.ownedOrganisationsMax,
    checkDeletable: billing.checkDeletable,
    deleteOrganization: (organizationId, by) => removal.deleteOrganization(organizationId, by),
    readStorage: storageOf,
    uploadBytesMax: settings.uploadBytesMax,
  });
  const acceptInvitation: SecondFactorSignInOptions['acceptInvitation'] = (user, invitation, address) =>
    organizations.acceptInviteAtSignIn(user, invitation, address);
  const secondFactorSignIn = new SecondFactorSignIn({
    ...components,
    store: data.store,
    clock,
    acceptInvitation,
  });
  return {
    idempotency: components.idempotency,
    changeLimiter: new SlidingWindowLimiter('changes', changesMax, clock),
    revocationLimiter: new SlidingWindowLimiter('removals', revocationsMax, clock),
    authorizer,
    billing,
    marketplaces,
    home,
    providers: new ProviderOperations({
      ...components,
      store: data.store,
      clock,
      random,
      publicUrl,
      home,
      providers: createIdentityProviders(settings, egress),
      acceptInvitation,
      secondFactorSignIn,
    }),
    users: new UserOperations({ ...components, isBillingEnabled: settings.stripeSecretKey !== null }),
    organizations,
    signIn: new SignInOperations({
      ...components,
      secondFactorSignIn,
      store: data.store,
      clock,
      random,
      secrets: data.secrets,
      adminPasswordHash: settings.adminPasswordHash,
      publicUrl,
      home,
      firstOrganizationId: () => installation.organizationId,
    }),
  };
}

/** Null for providers that are not configured. */
function createIdentityProviders(settings: Settings, { fetch }: Egress) {
  const configured = (name: 'google' | 'github', baseUrl: string): ProviderSettings | null => {
    const [clientId, clientSecret] = [settings[`${name}ClientId`], settings[`${name}ClientSecret`]];
    return clientId === null || clientSecret === null ? null : { clientId, clientSecret, baseUrl, fetch };
  };
  const google = configured('google', settings.oidcIssuer);
  const github = configured('github', settings.githubBaseUrl);
  return { google: google && createOpenIdProvider(google), github: github && createGitHubProvider(github) };
}

export function accountMaintenanceTasks(
  { auditDays }: Settings,
  { sessions, links, invitations, keys, audit, idempotency }: AccountComponents,
  erasure: ErasureClock,
): MaintenanceTask[] {
  const everyMs = limits.accountSweepMs;
  const auditRetention: MaintenanceTask = {
    name: 'audit log retention',
    intervalMs: limits.auditSweepMs,
    run: async (signal) =>
      audit.deleteOlderThan(auditDays * 86_400_000, { now: await erasure.now(), signal }),
  };
  return [
    ...(auditDays === 0 ? [] : [auditRetention]),
    { name: 'API key usage', intervalMs: limits.keyUseMs, run: () => keys.flushUses() },
    {
      name: 'expired sessions',
      intervalMs: everyMs,
      run: async (signal) => sessions.sweep(await erasure.now(), signal),
    },
    { name: 'expired idempotency records', intervalMs: everyMs, run: () => idempotency.sweep() },
    {
      name: 'expired invitations',
      intervalMs: everyMs,
      run: async (signal) => invitations.sweep(await erasure.now(), signal),
    },
    {
      name: 'expired sign-in links',
      intervalMs: everyMs,
      run: async (signal) => links.sweep(await erasure.now(), signal),
    },
  ];
}
