import { isIP } from 'node:net';
import { AppError } from '../core/app-error.ts';
import type { ClientInfo } from './client-info.ts';

/** The site to which authenticators bind passkeys. */
export interface RelyingParty {
  /** Host name without a port. */
  readonly id: string;
  /** `https://host:port` */
  readonly origin: string;
}

export interface RelyingPartyOptions {
  /** QUARRY_PASSKEY_SIGN_IN */
  readonly isEnabled: boolean;
  /** Whether the origin comes from QUARRY_BASE_URL or from a trusted proxy, and not from the client. */
  readonly isOriginTrusted: boolean;
}

/**
 * Returns the relying party of a request; null if browsers do not support passkeys there: they need a host name, and
 * https except for localhost. Without a trusted origin only localhost is accepted, because the client chooses its `Host`.
 */
export function findRelyingParty(
  client: Pick<ClientInfo, 'origin'>,
  { isEnabled, isOriginTrusted }: RelyingPartyOptions,
): RelyingParty | null {
  if (!isEnabled) return null;
  const { origin, hostname, protocol } = new URL(client.origin());
  const isLocal = hostname === 'localhost';
  const isName = isIP(hostname.replace(/^\[(.*)\]$/, '$1')) === 0;
  const isSupported = isLocal || (isName && isOriginTrusted && protocol === 'https:');
  return isSupported ? { id: hostname, origin } : null;
}

/** Errors: 503 where passkeys are disabled or not supported. */
export function requireRelyingParty(
  client: Pick<ClientInfo, 'origin'>,
  options: RelyingPartyOptions,
): RelyingParty {
  const party = findRelyingParty(client, options);
  if (party !== null) return party;
  throw new AppError(
    'unavailable',
    options.isEnabled
      ? 'Passkeys need a host name and https. Open the server at its https:// address (QUARRY_BASE_URL), or on its own machine at http://localhost.'
      : 'Passkeys are disabled on this server (QUARRY_PASSKEY_SIGN_IN=off).',
    { shouldRetry: false },
  );
}
