import { limits } from '../core/limits.ts';
import { passkeyLimits } from '../core/passkey-limits.ts';
import { rateLimits } from '../core/rate-limits.ts';
import { fairShare, formatNumber, formatWindows, type LimitRow } from './limit-row.ts';

/** A limit that rejects with 429 and has no header. */
function rateRow(
  name: keyof typeof rateLimits,
  { limit, bounds, share, file }: Pick<LimitRow, 'limit' | 'bounds' | 'share'> & { readonly file: string },
): LimitRow {
  return {
    limit,
    bounds,
    share,
    value: formatWindows(rateLimits[name]),
    enforcedIn: `${file} ${name}`,
    status: 429,
    header: null,
  };
}

const rateRows: readonly LimitRow[] = [
  rateRow('changes', {
    limit: 'Changes by a user',
    bounds: 'Write operations under `/api`',
    share: 'per user',
    file: 'app/accounts.ts',
  }),
  rateRow('accessRemovals', {
    limit: 'Removals of access',
    bounds: 'Revoked sessions, deleted API keys and passkeys, removed members, deleted invitations',
    share: 'per user, separate from changes',
    file: 'app/accounts.ts',
  }),
  rateRow('newOrganizations', {
    limit: 'New organizations',
    bounds: 'Organizations that a user creates',
    share: 'per user',
    file: 'accounts/organization-operations.ts',
  }),
  rateRow('invitationsOfUser', {
    limit: 'Invitations by a user',
    bounds: 'Invitations to all organizations',
    share: 'per user',
    file: 'accounts/invitation-operations.ts',
  }),
  rateRow('invitationsOfOrganization', {
    limit: 'Invitations to an organization',
    bounds: 'Invitations by all members',
    share: 'own allowance',
    file: 'accounts/invitation-operations.ts',
  }),
  rateRow('invitationsToAddress', {
    limit: 'Invitations of an address',
    bounds: 'Invitations to one organization',
    share: 'per organization and address',
    file: 'accounts/invitation-operations.ts',
  }),
  rateRow('promoCodes', {
    limit: 'Promo codes',
    bounds: 'Attempts to redeem a code',
    share: 'per user, and own allowance of the organization',
    file: 'app/billing.ts',
  }),
  rateRow('promoCodesOfAddress', {
    limit: 'Promo codes of an address',
    bounds: 'Attempts to redeem a code',
    share: 'per address',
    file: 'app/billing.ts',
  }),
];

const signInRows: readonly LimitRow[] = [
  rateRow('signInMails', {
    limit: 'Requested sign-in links',
    bounds: 'Requests for a sign-in link by email',
    share: 'per address',
    file: 'accounts/sign-in-operations.ts',
  }),
  rateRow('providerSignIns', {
    limit: 'Sign-ins with a provider',
    bounds: 'Sign-ins started with an identity provider',
    share: 'per address',
    file: 'accounts/provider-operations.ts',
  }),
  rateRow('passwordAttempts', {
    limit: 'Password attempts',
    bounds: 'Sign-ins with a password, new accounts and new passwords',
    share: 'per address',
    file: 'accounts/password-sign-in.ts',
  }),
  {
    limit: 'Queued passwords',
    bounds: 'Passwords of one address that wait to be hashed',
    value: formatNumber(limits.passwordsWaitingMax),
    enforcedIn: 'accounts/password-queue.ts PasswordQueue',
    status: 429,
    header: null,
    share: 'addresses are served round robin',
  },
  rateRow('passkeyRequests', {
    limit: 'Sign-ins with a passkey',
    bounds: 'Requests for a challenge, and sign-ins and new accounts with its answer',
    share: 'per address',
    file: 'app/accounts.ts',
  }),
  rateRow('oneTimeCodes', {
    limit: 'One-time codes',
    bounds: 'Codes of a second factor; recovery codes are not counted',
    share: 'per user',
    file: 'accounts/second-factors.ts',
  }),
  rateRow('codesOfSignIn', {
    limit: 'Codes of one sign-in',
    bounds: 'One-time codes and recovery codes of a sign-in that waits for its second factor',
    share: 'per sign-in',
    file: 'accounts/second-factor-sign-in.ts',
  }),
  {
    limit: 'Email queue',
    bounds: 'Messages that wait to be sent',
    value: formatNumber(limits.mailsWaitingMax),
    enforcedIn: 'accounts/mailer.ts mailsWaitingMax',
    status: 503,
    header: null,
    share: `${fairShare} between the sending organizations and the domains of recipients`,
  },
];

const countRows: readonly LimitRow[] = [
  {
    limit: 'Organizations of a user',
    bounds: 'Organizations that a user owns',
    value: '`QUARRY_OWNED_ORGANISATIONS_MAX`',
    enforcedIn: 'accounts/organization-operations.ts ownedOrganizationsMax',
    status: 429,
    header: null,
    share: 'per user',
  },
  {
    limit: 'API keys',
    bounds: 'Keys of an organization; a member creates a key only if there are fewer than the second number',
    value: `${formatNumber(limits.apiKeysPerOrganizationMax)} and ${formatNumber(limits.memberApiKeysMax)}`,
    enforcedIn: 'accounts/api-key-registry.ts apiKeysPerOrganizationMax',
    status: 400,
    header: null,
    share: 'own allowance',
  },
  {
    limit: 'Restriction of an API key',
    bounds: 'Collections, bytes of the filter as compact JSON, and origins of web pages',
    value: [limits.keyCollectionsMax, limits.keyFilterBytesMax, limits.keyOriginsMax]
      .map(formatNumber)
      .join(', '),
    enforcedIn: 'accounts/api-key-registry.ts keyFilterBytesMax',
    status: 400,
    header: null,
    share: 'per key',
  },
  {
    limit: 'Passkeys',
    bounds: 'Passkeys of a user',
    value: formatNumber(passkeyLimits.perUserMax),
    enforcedIn: 'accounts/passkeys.ts perUserMax',
    status: 400,
    header: null,
    share: 'per user',
  },
  {
    limit: 'Idempotency keys',
    bounds: 'Values of `Idempotency-Key` per day',
    value: formatNumber(limits.idempotencyKeysPerUserMax),
    enforcedIn: 'accounts/idempotency.ts idempotencyKeysPerUserMax',
    status: 429,
    header: null,
    share: 'per user',
  },
  rateRow('marketplaceSignUps', {
    limit: 'Sign-ups from a marketplace',
    bounds: 'Redirects from AWS Marketplace and Vercel',
    share: 'per address',
    file: 'app/marketplaces.ts',
  }),
  rateRow('marketplaceMessages', {
    limit: 'Messages of a marketplace',
    bounds: 'Messages from SNS and Vercel',
    share: 'per address',
    file: 'app/marketplaces.ts',
  }),
];

/** Limits of the account API. */
export const accountRows: readonly LimitRow[] = [...rateRows, ...signInRows, ...countRows];
