import Type, { type Static } from 'typebox';
import { DateTime, OneOf, Uuid } from './reply-types.ts';

/** Reply shapes of the change feed. */

const Change = Type.Object({
  id: Type.String({ pattern: '^chg_[\\w-]{24}$' }),
  sequence: Type.Optional(Type.Integer({ minimum: 1 })),
  type: OneOf([
    'document.added',
    'document.overwritten',
    'document.indexed',
    'document.failed',
    'document.metadata_changed',
    'document.deleted',
    'collection.created',
    'collection.renamed',
    'collection.deleted',
  ]),
  occurred_at: DateTime,
  collection_id: Uuid,
  collection_name: Type.String(),
  previous_collection_name: Type.Optional(Type.String()),
  path: Type.Optional(Type.String()),
  document_id: Type.Optional(Uuid),
  error: Type.Optional(Type.Object({ code: Type.String(), message: Type.String() })),
});
export type ChangeReply = Static<typeof Change>;

export const GetChangesResponse = Type.Object({
  changes: Type.Array(Change),
  cursor: Type.String(),
  has_more: Type.Boolean(),
});
