import { changeLimits } from '../core/change-limits.ts';
import { type Static, Type } from './typebox.ts';
import { Component, OneOf, Timestamp, Uuid } from './wire.ts';

export const changeTypes = [
  'document.added',
  'document.overwritten',
  'document.indexed',
  'document.failed',
  'document.metadata_changed',
  'document.deleted',
  'collection.created',
  'collection.renamed',
  'collection.deleted',
] as const;

export const ChangeType = OneOf(changeTypes, { title: 'ChangeType', description: 'Kind of a change.' });
export type ChangeType = Static<typeof ChangeType>;

export const GetChangesRequest = Component('GetChangesRequest', 'A position in the change feed.', {
  after: Type.Optional(
    Type.String({
      description:
        'The `cursor` of an earlier reply; `oldest` begins with the oldest change that is kept. Without it, the reply has no changes and the cursor of the current end.',
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
      description: `Without a change after the position, wait for one for up to this time, from 0 to ${changeLimits.waitSecondsMax}.`,
    }),
  ),
});
export type GetChangesRequest = Static<typeof GetChangesRequest>;

export const Change = Component('Change', 'A change of a document or a collection.', {
  id: Type.String({ description: 'Identifies the change; the same in every reply and webhook delivery.' }),
  sequence: Type.Optional(
    Type.Integer({
      description:
        'Number of the change in the organization, without gaps. Absent for a restricted key, which does not see all changes.',
    }),
  ),
  type: ChangeType,
  occurred_at: Timestamp('Time of the change.'),
  collection_id: Uuid('ID of the collection, which stays when it is renamed.'),
  collection_name: Type.String({
    description: 'Name of the collection at that time; the new name when it was renamed.',
  }),
  previous_collection_name: Type.Optional(
    Type.String({ description: 'The name before `collection.renamed`.' }),
  ),
  path: Type.Optional(Type.String({ description: 'Path of the document; absent for a collection.' })),
  document_id: Type.Optional(
    Uuid('ID of this content of the document: an overwrite has a new one. Absent for a collection.'),
  ),
  error: Type.Optional(
    Type.Object(
      { code: Type.String(), message: Type.String() },
      { description: 'Cause of `document.failed`.' },
    ),
  ),
});
export type Change = Static<typeof Change>;

export const GetChangesResponse = Component('GetChangesResponse', 'Changes in their order.', {
  changes: Type.Array(Change),
  cursor: Type.String({ description: 'Position after these changes: `after` of the next request.' }),
  has_more: Type.Boolean({ description: 'Whether more changes follow already.' }),
});
export type GetChangesResponse = Static<typeof GetChangesResponse>;
