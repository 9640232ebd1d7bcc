/** What a key may do: everything, or only operations that change nothing. */
export const keyPermissions = ['all', 'read_only'] as const;
export type KeyPermission = (typeof keyPermissions)[number];

/** All that a key may see of its organisation; whatever else there is, is not there for it. */
export interface KeyRestriction {
  /** Names of collections, also of some that do not exist yet; null for all. */
  readonly collections: readonly string[] | null;
  /** What the metadata of documents must match, as queries filter them; null for all. */
  readonly filter: Readonly<Record<string, unknown>> | null;
}

/** What a person may do in an organisation, the most powerful first. */
export const roles = ['OWNER', 'ADMIN', 'MEMBER'] as const;
export type Role = (typeof roles)[number];

/**
 * Who is calling, as the door identified them. An organisation's key acts inside that organisation only, and so does a
 * person who names one; the administrator acts on organisations and has none; a person acts on the accounts.
 */
export type Principal =
  | {
      readonly kind: 'organisation';
      readonly organizationId: string;
      /** Of the API key, or of the session of a person. */
      readonly keyId: string;
      /** The person whose session it is; absent for an API key. */
      readonly userId?: string;
      readonly permission: KeyPermission;
      /** Absent for a key that sees all of its organisation, and for people. */
      readonly restriction?: KeyRestriction;
      /** Zero data retention: no text of this caller's queries, documents or inputs may reach a log. */
      readonly zdr: boolean;
    }
  | { readonly kind: 'administrator' }
  | { readonly kind: 'person'; readonly userId: string; readonly sessionId: string };

export type OrganizationPrincipal = Extract<Principal, { kind: 'organisation' }>;
export type PersonPrincipal = Extract<Principal, { kind: 'person' }>;
