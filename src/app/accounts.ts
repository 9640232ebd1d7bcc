import { Idempotency } from '../accounts/idempotency.ts';
import { gitHubProvider, openIdProvider, type ProviderSettings } from '../accounts/identity-providers.ts';
import { Invitations } from '../accounts/invitations.ts';
import { KeyRing } from '../accounts/key-ring.ts';
import { MagicLinks } from '../accounts/magic-links.ts';
import { Mail } from '../accounts/mail.ts';
import { MembershipGate } from '../accounts/membership-gate.ts';
import { Memberships } from '../accounts/memberships.ts';
import { OrganisationDirectory } from '../accounts/organisation-directory.ts';
import { OrganisationOperations } from '../accounts/organisation-operations.ts';
import type { OrganisationRemoval } from '../accounts/organisation-removal.ts';
import { operatorEmail, People } from '../accounts/people.ts';
import { ProviderOperations } from '../accounts/provider-operations.ts';
import { SecondFactorSignIn, type SecondFactorSignInOptions } from '../accounts/second-factor-sign-in.ts';
import { SecondFactors } from '../accounts/second-factors.ts';
import { Sessions } from '../accounts/sessions.ts';
import { SignInFlows } from '../accounts/sign-in-flows.ts';
import { SignInOperations } from '../accounts/sign-in-operations.ts';
import { UserDirectory } from '../accounts/user-directory.ts';
import { UserOperations } from '../accounts/user-operations.ts';
import { RateWindow } from '../admission/rate-window.ts';
import type { Tiers } from '../admission/tiers.ts';
import { AuditLog } from '../audit/audit-log.ts';
import { Refusals } from '../audit/refusals.ts';
import { derivedSecrets } from '../base/installation-secrets.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import { Sealing } from '../base/sealing.ts';
import type { Billing } from '../billing/billing.ts';
import type { Settings } from '../config/schema.ts';
import type { Egress } from '../egress/egress.ts';
import type { AccountServices } from '../http/account-route.ts';
import type { Marketplaces } from '../marketplaces/marketplaces.ts';
import type { Chore } from '../pipeline/housekeeping.ts';
import { parseFilter } from '../search/filter.ts';
import type { DataDirectory } from '../store/data-directory.ts';
import type { ErasureClock } from '../store/erasure-clock.ts';
import { chance, clock, home } from './given.ts';
import type { storageOf } from './quotas.ts';

/** People, organisations, keys, and what is swept away for them. */

/** Everything that keeps people, organisations and keys. */
export function buildAccountRooms(
  settings: Settings,
  { store, secrets }: DataDirectory,
  { tiers, egress, logger }: { readonly tiers: Tiers; readonly egress: Egress; readonly logger: Logger },
) {
  const audit = new AuditLog({ store, clock, chance });
  const parts = { store, clock, chance, audit };
  // Only the current secret: what it seals lives for minutes, and a rotation has to end what an earlier one can forge.
  const sealing = new Sealing(derivedSecrets(secrets, 'sign-in').slice(0, 1), chance);
  const memberships = new Memberships(parts);
  const invitations = new Invitations({
    ...parts,
    secrets: derivedSecrets(secrets, 'invitations'),
    roleOf: (place) => memberships.roleOf(place),
  });
  const mayJoin = async (email: string) =>
    settings.signUp === 'open' || email === operatorEmail || (await invitations.ofAddress(email)).length > 0;
  const organisations = new OrganisationDirectory({ ...parts, tiers });
  const people = new People({ ...parts, mayJoin });
  const sessions = new Sessions({ ...parts, logger });
  const secondFactors = new SecondFactors({
    ...parts,
    sealing: new Sealing(derivedSecrets(secrets, 'second-factors'), chance),
    adminPasswordHash: settings.adminPasswordHash,
  });
  return {
    audit,
    directory: new UserDirectory({
      ...parts,
      ...{ organisations, people, sessions, memberships, secondFactors },
    }),
    secondFactors,
    sealing,
    refusals: new Refusals({ audit, clock, logger }),
    organisations,
    keys: new KeyRing({ ...parts, checkFilter: parseFilter }),
    people,
    sessions,
    memberships,
    invitations,
    links: new MagicLinks({ ...parts, sealing }),
    flows: new SignInFlows({ sealing, clock }),
    idempotency: new Idempotency({ ...parts, secrets: derivedSecrets(secrets, 'replies') }),
    mail: new Mail({
      ...parts,
      url: settings.mailUrl,
      from: settings.mailFrom,
      egress,
      logger,
      print: (text) => process.stdout.write(`${text}\n`),
      closeMsMax: limits.mailCloseMsMax,
    }),
  };
}

export type AccountRooms = ReturnType<typeof buildAccountRooms>;

/** Of one person: each leaves an entry in a log that is kept for long. */
const changesMax = [
  { ms: 60_000, max: 240 },
  { ms: 3_600_000, max: 2_000 },
] as const;

/** Of one person, for what takes access away. */
const revocationsMax = [
  { ms: 60_000, max: 600 },
  { ms: 3_600_000, max: 6_000 },
] as const;

interface AccountParts {
  readonly data: DataDirectory;
  readonly rooms: AccountRooms;
  readonly removal: OrganisationRemoval;
  readonly installation: { readonly url: string; readonly organizationId: string };
  readonly storageOf: ReturnType<typeof storageOf>;
  readonly billing: Billing;
  readonly marketplaces: Marketplaces;
  readonly egress: Egress;
}

export function buildAccounts(
  settings: Settings,
  { data, rooms, removal, installation, storageOf, billing, marketplaces, egress }: AccountParts,
): AccountServices {
  const linkBase = () => installation.url;
  const gate = new MembershipGate(rooms);
  const organisations = new OrganisationOperations({
    ...rooms,
    gate,
    clock,
    chance,
    linkBase,
    ownedMax: settings.ownedOrganisationsMax,
    mayEnd: billing.mayEnd,
    end: (organizationId, by) => removal.begin(organizationId, by),
    storageOf,
    uploadBytesMax: settings.uploadBytesMax,
  });
  const accept: SecondFactorSignInOptions['accept'] = (user, invitation, address) =>
    organisations.acceptSignedIn(user, invitation, address);
  const secondStep = new SecondFactorSignIn({ ...rooms, store: data.store, clock, accept });
  return {
    idempotency: rooms.idempotency,
    pace: new RateWindow('changes', changesMax, clock),
    revocations: new RateWindow('removals', revocationsMax, clock),
    gate,
    billing,
    marketplaces,
    home,
    providers: new ProviderOperations({
      ...rooms,
      store: data.store,
      clock,
      chance,
      linkBase,
      home,
      providers: identityProviders(settings, egress),
      accept,
      secondStep,
    }),
    users: new UserOperations({ ...rooms, takesPayments: settings.stripeSecretKey !== null }),
    organisations,
    signIn: new SignInOperations({
      ...rooms,
      secondStep,
      store: data.store,
      clock,
      chance,
      secrets: data.secrets,
      adminPasswordHash: settings.adminPasswordHash,
      linkBase,
      home,
      firstOrganizationId: () => installation.organizationId,
    }),
  };
}

/** Null for those that are not configured. */
function identityProviders(settings: Settings, { fetch }: Egress) {
  const configured = (name: 'google' | 'github', baseUrl: string): ProviderSettings | null => {
    const [clientId, clientSecret] = [settings[`${name}ClientId`], settings[`${name}ClientSecret`]];
    return clientId === null || clientSecret === null ? null : { clientId, clientSecret, baseUrl, fetch };
  };
  const google = configured('google', settings.oidcIssuer);
  const github = configured('github', settings.githubBaseUrl);
  return { google: google && openIdProvider(google), github: github && gitHubProvider(github) };
}

export function accountChores(
  { auditDays }: Settings,
  { sessions, links, invitations, keys, audit, idempotency }: AccountRooms,
  erasure: ErasureClock,
): Chore[] {
  const everyMs = limits.accountSweepMs;
  const old: Chore = {
    name: 'old entries of the audit log',
    everyMs: limits.auditSweepMs,
    work: async (signal) => audit.forgetOlder(auditDays * 86_400_000, { now: await erasure.now(), signal }),
  };
  return [
    ...(auditDays === 0 ? [] : [old]),
    { name: 'uses of API keys', everyMs: limits.keyUseMs, work: () => keys.writeUses() },
    { name: 'ended sessions', everyMs, work: async (signal) => sessions.sweep(await erasure.now(), signal) },
    { name: 'replies kept for repeated calls', everyMs, work: () => idempotency.sweep() },
    {
      name: 'invitations that nobody accepted',
      everyMs,
      work: async (signal) => invitations.sweep(await erasure.now(), signal),
    },
    {
      name: 'dead sign-in links',
      everyMs,
      work: async (signal) => links.sweep(await erasure.now(), signal),
    },
  ];
}
