import { limits } from '../core/limits.ts';
import { pageFields } from './admin.ts';
import { roles } from './principal.ts';
import { type Static, Type } from './typebox.ts';
import { Component, Nullable, OneOf, Timestamp, Uuid } from './wire.ts';

/** Schemas of user administration. */

const userId = Uuid('ID of the user.');

export const ListUsersRequest = Component('ListUsersRequest', 'Page of the list of users.', {
  ...pageFields,
  email: Type.Optional(Nullable(Type.String(), { description: 'Only the user with exactly this address.' })),
  search: Type.Optional(
    Nullable(Type.String({ minLength: 1, maxLength: limits.userSearchUnitsMax }), {
      description:
        'Only users whose address or name contains this text, case-insensitive. A reply can then contain fewer users than `limit`, or none, although more follow; check `next_after`.',
    }),
  ),
});
export type ListUsersRequest = Static<typeof ListUsersRequest>;

const UserListItem = Component('ListedUser', 'A user in a list.', {
  user_id: userId,
  email: Type.String(),
  name: Nullable(Type.String()),
  created_at: Timestamp('Time of the first sign-in.'),
  last_login_at: Timestamp('Time of the last sign-in.'),
  disabled_at: Nullable(Type.String(), {
    description: 'Time when the user was disabled; null if the user can sign in.',
  }),
  sessions: Type.Integer({ description: 'Open sessions.' }),
  second_factor: Type.Boolean({ description: 'Whether the second factor is enabled.' }),
  passkeys: Type.Integer({ description: 'Number of passkeys.' }),
  organizations: Type.Array(
    Type.Object({
      organization_id: Uuid('ID of the organization.'),
      name: Type.String(),
      permission: OneOf(roles),
    }),
  ),
});
export type UserListItem = Static<typeof UserListItem>;

export const ListUsersResponse = Component('ListUsersResponse', 'Users ordered by ID.', {
  users: Type.Array(UserListItem),
  next_after: Nullable(Type.String(), { description: 'Cursor of the next page; null on the last page.' }),
});
export type ListUsersResponse = Static<typeof ListUsersResponse>;

export const UserRequest = Component('UserRequest', 'A user.', { user_id: userId });
export type UserRequest = Static<typeof UserRequest>;
