import { changeLimits } from '../core/change-limits.ts';
import { changeTypes } from '../core/change-types.ts';
import { type Static, Type } from './typebox.ts';
import { Component, OneOf, Timestamp, Uuid } from './wire.ts';

export const ChangeType = OneOf(changeTypes, { title: 'ChangeType', description: 'Type of a change.' });
export type ChangeType = Static<typeof ChangeType>;

export const GetChangesRequest = Component('GetChangesRequest', 'A position in the change feed.', {
  after: Type.Optional(
    Type.String({
      description:
        'The `cursor` of an earlier reply, or `oldest` for the oldest change that is kept. Without it, the reply has no changes and a cursor for the current end of the feed.',
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      default: changeLimits.perReplyDefault,
      description: `Maximum number of changes, from 1 to ${changeLimits.perReplyMax.toLocaleString('en-US')}.`,
    }),
  ),
  wait_seconds: Type.Optional(
    Type.Integer({
      default: 0,
      description: `Maximum number of seconds to wait if there is no change after the position yet, from 0 to ${changeLimits.waitSecondsMax}.`,
    }),
  ),
});
export type GetChangesRequest = Static<typeof GetChangesRequest>;

export const Change = Component('Change', 'A change of a document or a collection.', {
  id: Type.String({ description: 'ID of the change; the same in every reply and webhook delivery.' }),
  sequence: Type.Optional(
    Type.Integer({
      description:
        'Consecutive number of the change within the organization. Absent for a restricted key, which does not see all changes.',
    }),
  ),
  type: ChangeType,
  occurred_at: Timestamp('Time of the change.'),
  collection_id: Uuid('ID of the collection; a rename does not change it.'),
  collection_name: Type.String({
    description: 'Name of the collection at that time; for `collection.renamed`, the new name.',
  }),
  previous_collection_name: Type.Optional(
    Type.String({ description: 'The name before `collection.renamed`.' }),
  ),
  path: Type.Optional(Type.String({ description: 'Path of the document; absent for a collection.' })),
  document_id: Type.Optional(
    Uuid('ID of the document; each overwrite creates a new one. Absent for a collection.'),
  ),
  error: Type.Optional(
    Type.Object(
      { code: Type.String(), message: Type.String() },
      { description: 'Cause of `document.failed`.' },
    ),
  ),
});
export type Change = Static<typeof Change>;

export const GetChangesResponse = Component(
  'GetChangesResponse',
  'Changes in the order in which they were made.',
  {
    changes: Type.Array(Change),
    cursor: Type.String({ description: 'Position after these changes, for `after` of the next request.' }),
    has_more: Type.Boolean({ description: 'Whether more changes are already available.' }),
  },
);
export type GetChangesResponse = Static<typeof GetChangesResponse>;
