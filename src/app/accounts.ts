import { ApiKeyOperations } from '../accounts/api-key-operations.ts';
import {
  createGitHubProvider,
  createOpenIdProvider,
  type ProviderSettings,
} from '../accounts/identity-providers.ts';
import { InvitationOperations } from '../accounts/invitation-operations.ts';
import { InvitedSignUp } from '../accounts/invited-sign-up.ts';
import { MemberOperations } from '../accounts/member-operations.ts';
import { MembershipAuthorizer } from '../accounts/membership-authorizer.ts';
import { OrganizationOperations } from '../accounts/organization-operations.ts';
import { OrganizationRemoval } from '../accounts/organization-removal.ts';
import { PasskeyJoin } from '../accounts/passkey-join.ts';
import { PasskeyOperations } from '../accounts/passkey-operations.ts';
import { PasskeySignIn } from '../accounts/passkey-sign-in.ts';
import { PasswordQueue } from '../accounts/password-queue.ts';
import { PasswordSignIn } from '../accounts/password-sign-in.ts';
import { ProviderOperations } from '../accounts/provider-operations.ts';
import type { RelyingPartyOptions } from '../accounts/relying-party.ts';
import { SecondFactorSignIn, type SecondFactorSignInOptions } from '../accounts/second-factor-sign-in.ts';
import { SignInOperations, type SignInOperationsOptions } from '../accounts/sign-in-operations.ts';
import { UserOperations } from '../accounts/user-operations.ts';
import { SlidingWindowLimiter } from '../admission/sliding-window-limiter.ts';
import type { Billing } from '../billing/billing.ts';
import type { Settings } from '../config/schema.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import { rateLimits } from '../core/rate-limits.ts';
import type { Egress } from '../egress/egress.ts';
import type { AccountServices } from '../http/routes/account-route.ts';
import type { MaintenanceTask } from '../ingest/maintenance.ts';
import type { Marketplaces } from '../marketplaces/marketplaces.ts';
import type { DataDirectory } from '../storage/data-directory.ts';
import type { ErasureClock } from '../storage/erasure-clock.ts';
import type { AccountComponents } from './account-components.ts';
import type { createStorageUsageReader } from './quotas.ts';
import { clock, home, random } from './runtime.ts';

/** Operations of users, organizations and API keys, and their periodic maintenance. */

type AcceptInvitation = SecondFactorSignInOptions['acceptInvitation'];

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

export function buildAccounts(settings: Settings, dependencies: AccountDependencies): AccountServices {
  const { data, components, billing, marketplaces } = dependencies;
  const { userAccounts, sessions, memberships, invitations, secondFactors, audit, mail } = components;
  const { organizations: directory, deniedAccessLog, sealer } = components;
  const authorizer = new MembershipAuthorizer({ organizations: directory, memberships, deniedAccessLog });
  const invitationOperations = new InvitationOperations({
    userAccounts,
    memberships,
    invitations,
    organizations: directory,
    authorizer,
    mail,
    clock,
    publicUrl: () => dependencies.installation.url,
  });
  const acceptInvitation: AcceptInvitation = (user, invitation, address) =>
    invitationOperations.acceptAtSignIn(user, invitation, address);
  const secondFactorSignIn = new SecondFactorSignIn({
    store: data.store,
    clock,
    userAccounts,
    sessions,
    secondFactors,
    audit,
    deniedAccessLog,
    mail,
    sealer,
    acceptInvitation,
  });
  const passwordQueue = new PasswordQueue();
  const invitedSignUp = new InvitedSignUp({ ...components, home });
  const passwordParts = { secondFactorSignIn, invitedSignUp, passwordQueue };
  const passwordSignIn = createPasswordSignIn(settings, components, passwordParts);
  return {
    idempotency: components.idempotency,
    changeLimiter: new SlidingWindowLimiter('changes', rateLimits.changes, clock),
    revocationLimiter: new SlidingWindowLimiter('removals', rateLimits.accessRemovals, clock),
    authorizer,
    billing,
    marketplaces,
    home,
    passkeys: createPasskeyOperations(settings, components),
    providers: createProviderOperations(settings, dependencies, { secondFactorSignIn, acceptInvitation }),
    users: new UserOperations({
      userAccounts,
      sessions,
      memberships,
      invitations,
      organizations: directory,
      directory: components.directory,
      secondFactors,
      passwords: components.passwords,
      passkeys: components.passkeys,
      passwordSignIn,
      isBillingEnabled: settings.stripeSecretKey !== null,
    }),
    organizations: createOrganizationOperations(settings, authorizer, dependencies),
    members: new MemberOperations({ memberships, authorizer }),
    invitations: invitationOperations,
    apiKeys: new ApiKeyOperations({ keys: components.keys, authorizer }),
    signIn: createSignInOperations(settings, dependencies, {
      secondFactorSignIn,
      passwordSignIn,
      ...createPasskeyMethods(settings, components, invitedSignUp),
      passwordQueue,
    }),
  };
}

function relyingPartyOptions({ passkeySignIn, baseUrl, trustProxy }: Settings): RelyingPartyOptions {
  return { isEnabled: passkeySignIn === 'on', isOriginTrusted: baseUrl !== null || trustProxy };
}

function createPasskeyOperations(
  settings: Settings,
  { passkeys, userAccounts, sessions, mail, sealer }: AccountComponents,
): PasskeyOperations {
  const relyingParty = relyingPartyOptions(settings);
  return new PasskeyOperations({ passkeys, userAccounts, sessions, mail, random, sealer, relyingParty });
}

function createPasskeyMethods(
  settings: Settings,
  { passkeys, userAccounts, sessions, deniedAccessLog, sealer }: AccountComponents,
  invitedSignUp: InvitedSignUp,
): Pick<SignInOperationsOptions, 'passkeySignIn' | 'passkeyJoin'> {
  const limiter = new SlidingWindowLimiter('passkey requests', rateLimits.passkeyRequests, clock);
  const common = { passkeys, sealer, relyingParty: relyingPartyOptions(settings), limiter };
  return {
    passkeySignIn: new PasskeySignIn({ ...common, userAccounts, sessions, deniedAccessLog, home }),
    passkeyJoin: new PasskeyJoin({ ...common, invitedSignUp, random }),
  };
}

function createPasswordSignIn(
  settings: Settings,
  components: AccountComponents,
  {
    secondFactorSignIn,
    invitedSignUp,
    passwordQueue,
  }: {
    readonly secondFactorSignIn: SecondFactorSignIn;
    readonly invitedSignUp: InvitedSignUp;
    readonly passwordQueue: PasswordQueue;
  },
): PasswordSignIn {
  const { userAccounts, sessions, secondFactors, deniedAccessLog, mail, passwords } = components;
  return new PasswordSignIn({
    userAccounts,
    sessions,
    secondFactors,
    secondFactorSignIn,
    invitedSignUp,
    deniedAccessLog,
    mail,
    clock,
    home,
    passwords,
    queue: passwordQueue,
    isEnabled: settings.passwordSignIn === 'on',
  });
}

function createOrganizationOperations(
  settings: Settings,
  authorizer: MembershipAuthorizer,
  { components, billing, removal, storageOf }: AccountDependencies,
): OrganizationOperations {
  const { userAccounts, memberships, invitations, organizations, keys, audit } = components;
  return new OrganizationOperations({
    userAccounts,
    memberships,
    invitations,
    organizations,
    keys,
    audit,
    authorizer,
    clock,
    random,
    ownedOrganizationsMax: settings.ownedOrganisationsMax,
    checkDeletable: billing.checkDeletable,
    deleteOrganization: (organizationId, by) => removal.deleteOrganization(organizationId, by),
    readStorage: storageOf,
    uploadBytesMax: settings.uploadBytesMax,
  });
}

function createProviderOperations(
  settings: Settings,
  { data, components, installation, egress }: AccountDependencies,
  {
    secondFactorSignIn,
    acceptInvitation,
  }: { readonly secondFactorSignIn: SecondFactorSignIn; readonly acceptInvitation: AcceptInvitation },
): ProviderOperations {
  const { userAccounts, sessions, audit, deniedAccessLog, mail, secondFactors, flows, invitations } =
    components;
  return new ProviderOperations({
    store: data.store,
    userAccounts,
    sessions,
    audit,
    deniedAccessLog,
    mail,
    secondFactors,
    secondFactorSignIn,
    flows,
    clock,
    random,
    providers: createIdentityProviders(settings, egress),
    publicUrl: () => installation.url,
    home,
    invitations,
    acceptInvitation,
  });
}

function createSignInOperations(
  { adminPasswordHash }: Settings,
  { data, components, installation }: AccountDependencies,
  methods: Pick<
    SignInOperationsOptions,
    'secondFactorSignIn' | 'passwordSignIn' | 'passkeySignIn' | 'passkeyJoin' | 'passwordQueue'
  >,
): SignInOperations {
  const { userAccounts, sessions, memberships, links, audit, deniedAccessLog, mail, secondFactors } =
    components;
  return new SignInOperations({
    store: data.store,
    userAccounts,
    sessions,
    memberships,
    links,
    audit,
    deniedAccessLog,
    mail,
    secondFactors,
    ...methods,
    clock,
    random,
    secrets: data.secrets,
    adminPasswordHash,
    publicUrl: () => installation.url,
    home,
    firstOrganizationId: () => installation.organizationId,
  });
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

export function createOrganizationRemoval(
  { organizations, keys, memberships, invitations, audit }: AccountComponents,
  deleteData: (organizationId: string) => Promise<boolean>,
  logger: Logger,
): OrganizationRemoval {
  return new OrganizationRemoval({
    organizations,
    keys,
    memberships,
    invitations,
    audit,
    deleteData,
    logger,
  });
}
