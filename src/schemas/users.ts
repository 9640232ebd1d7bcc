import { limits } from '../core/limits.ts';
import { roles } from './principal.ts';
import { type Static, Type } from './typebox.ts';
import { Component, Nullable, OneOf, Timestamp, Uuid } from './wire.ts';

/** Schemas of user administration. */

const userId = Uuid('The user.');

export const ListUsersRequest = Component('ListUsersRequest', 'Which part of the list of users.', {
  after: Type.Optional(
    Nullable(Type.String({ format: 'uuid' }), {
      description: 'The `next_after` of the last reply: continues behind this id.',
    }),
  ),
  limit: Type.Optional(
    Nullable(Type.Integer({ minimum: 1, maximum: limits.organizationsPageMax }), {
      description: '100 when absent.',
    }),
  ),
  email: Type.Optional(
    Nullable(Type.String(), { description: 'Only the user with exactly this address, if there is one.' }),
  ),
  search: Type.Optional(
    Nullable(Type.String({ minLength: 1, maxLength: limits.userSearchUnitsMax }), {
      description:
        'Only users whose address or name contains this text, in upper or lower case. A reply may then hold fewer users than `limit`, or none, although others follow: `next_after` says so.',
    }),
  ),
});
export type ListUsersRequest = Static<typeof ListUsersRequest>;

const UserListItem = Component('ListedUser', 'A user in a list.', {
  user_id: userId,
  email: Type.String(),
  name: Nullable(Type.String()),
  created_at: Timestamp('When the user signed in first.'),
  last_login_at: Timestamp('When the user signed in last.'),
  disabled_at: Nullable(Type.String(), {
    description: 'Since when no sign-in is accepted; null for a user who may sign in.',
  }),
  sessions: Type.Integer({ description: 'Open sessions.' }),
  second_factor: Type.Boolean({ description: 'Whether the sign-in takes a second factor.' }),
  organizations: Type.Array(
    Type.Object({
      organization_id: Uuid('The organization.'),
      name: Type.String(),
      permission: OneOf(roles),
    }),
  ),
});
export type UserListItem = Static<typeof UserListItem>;

export const ListUsersResponse = Component('ListUsersResponse', 'Users by id.', {
  users: Type.Array(UserListItem),
  next_after: Nullable(Type.String(), { description: 'For the next page; null when this was the last.' }),
});
export type ListUsersResponse = Static<typeof ListUsersResponse>;

export const UserRequest = Component('UserRequest', 'The user that is meant.', { user_id: userId });
export type UserRequest = Static<typeof UserRequest>;
