/** What a key may do: everything, or only operations that change nothing. */
export const keyPermissions = ['all', 'read_only'] as const;
export type KeyPermission = (typeof keyPermissions)[number];

/**
 * Who is calling, as the door identified them. An organisation's key acts inside that organisation only; the
 * administrator acts on organisations and has none.
 */
export type Principal =
  | {
      readonly kind: 'organisation';
      readonly organizationId: string;
      readonly keyId: string;
      readonly permission: KeyPermission;
      /** Zero data retention: no text of this caller's queries, documents or inputs may reach a log. */
      readonly zdr: boolean;
    }
  | { readonly kind: 'administrator' };

export type OrganisationPrincipal = Extract<Principal, { kind: 'organisation' }>;
