import Type, { type Static } from 'typebox';
import { readAccess } from './expected-statuses.ts';
import { withBody } from './inputs.ts';
import { type OperationTests, published } from './operation-test.ts';
import { DateTime, OneOf, Uuid } from './reply-types.ts';

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

const GetChangesResponse = Type.Object({
  changes: Type.Array(Change),
  cursor: Type.String(),
  has_more: Type.Boolean(),
});

/** Operations of the change feed. */
export const changeTests = {
  'get-changes': {
    expected: readAccess(200, 200),
    buildInput: withBody(),
    published: published('changes/get-changes', GetChangesResponse),
  },
  'stream-changes': {
    expected: readAccess(200, 200),
    buildInput: () => ({}),
  },
} satisfies OperationTests;
