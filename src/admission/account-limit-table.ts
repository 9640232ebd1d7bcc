import { limits } from '../core/limits.ts';
import { formatNumber, type LimitRow } from './limit-row.ts';

/** Limits of the account API. */
export const accountRows: readonly LimitRow[] = [
  {
    limit: 'Changes by a user',
    bounds: 'Write operations under `/api`',
    value: '240 per minute, 2,000 per hour',
    enforcedIn: 'app/accounts.ts changesMax',
    status: 429,
    header: null,
    share: 'per user',
  },
  {
    limit: 'Removals of access',
    bounds: 'Revoked sessions, deleted API keys, removed members, deleted invitations',
    value: '600 per minute, 6,000 per hour',
    enforcedIn: 'app/accounts.ts revocationsMax',
    status: 429,
    header: null,
    share: 'per user, separate from changes',
  },
  {
    limit: 'Password attempts',
    bounds: 'Sign-ins with a password, new accounts and new passwords of one address per hour',
    value: formatNumber(limits.passwordAttemptsPerHourMax),
    enforcedIn: 'accounts/password-sign-in.ts PasswordSignIn',
    status: 429,
    header: null,
    share: 'per address',
  },
  {
    limit: 'Queued passwords',
    bounds: 'Passwords of one address that wait to be hashed',
    value: formatNumber(limits.passwordsWaitingMax),
    enforcedIn: 'accounts/password-queue.ts PasswordQueue',
    status: 429,
    header: null,
    share: 'addresses are served round robin',
  },
];
