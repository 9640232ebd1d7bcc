import type { Principal } from '../schemas/principal.ts';

/** A principal as the audit log names it; null when it is not known. */
export function actorOf(principal: Principal | null): string | null {
  switch (principal?.kind) {
    case undefined:
      return null;
    case 'organisation':
      return principal.userId ?? `key:${principal.keyId}`;
    case 'administrator':
      return 'administrator';
    case 'person':
      return principal.userId;
  }
}
