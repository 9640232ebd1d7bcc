import type { Principal } from '../schemas/principal.ts';

/** Returns the name of a principal in the audit log; null if it is unknown. */
export function actorOf(principal: Principal | null): string | null {
  switch (principal?.kind) {
    case undefined:
      return null;
    case 'organization':
      return principal.userId ?? `key:${principal.keyId}`;
    case 'administrator':
      return 'administrator';
    case 'user':
      return principal.userId;
  }
}
