/** Permission of a key: all operations, or only read operations. */
export const keyPermissions = ['all', 'read_only'] as const;
export type KeyPermission = (typeof keyPermissions)[number];

/** Restricts a key to part of its organization; everything else is treated as nonexistent. */
export interface KeyRestriction {
  /** Names of collections, which need not exist yet; null for all. */
  readonly collections: readonly string[] | null;
  /** Filter on document metadata, in the syntax of queries; null for all. */
  readonly filter: Readonly<Record<string, unknown>> | null;
}

/** Roles of a user in an organization, the most powerful first. */
export const roles = ['OWNER', 'ADMIN', 'MEMBER'] as const;
export type Role = (typeof roles)[number];

/**
 * Authenticated caller. The key of an organization acts only inside that organization, and so does a user
 * who selects one; the administrator acts on organizations and belongs to none; a user acts on accounts.
 */
export type Principal =
  | {
      readonly kind: 'organization';
      readonly organizationId: string;
      /** ID of the API key, or of the session of a user. */
      readonly keyId: string;
      /** The user of the session; absent for an API key. */
      readonly userId?: string;
      readonly permission: KeyPermission;
      /** Absent for a key without a restriction, and for users. */
      readonly restriction?: KeyRestriction;
      /** Origins whose pages may read replies to this key; absent for none, and for users. */
      readonly allowedOrigins?: readonly string[];
      /** Zero data retention: text of this caller's queries, documents and inputs must never reach a log. */
      readonly zdr: boolean;
    }
  | { readonly kind: 'administrator' }
  | { readonly kind: 'user'; readonly userId: string; readonly sessionId: string };

export type OrganizationPrincipal = Extract<Principal, { kind: 'organization' }>;
export type UserPrincipal = Extract<Principal, { kind: 'user' }>;
