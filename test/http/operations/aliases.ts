import Type from 'typebox';
import { readAccess, withoutRestrictions, writeAccess } from './expected-statuses.ts';
import { type OperationTests, published } from './operation-test.ts';
import { DefaultResponse } from './reply-types.ts';

const GetAliasListResponse = Type.Object({
  aliases: Type.Array(
    Type.Object({ alias_name: Type.String(), collection_name: Type.String(), created_at: Type.String() }),
  ),
});

/** Operations of aliases. */
export const aliasTests = {
  'add-alias': {
    expected: withoutRestrictions(writeAccess(201)),
    buildInput: ({ collection_name }, fresh) => ({ body: { alias_name: `alias-${fresh}`, collection_name } }),
    published: published('aliases/add-alias', DefaultResponse),
  },
  'update-aliases': {
    expected: withoutRestrictions(writeAccess(200)),
    buildInput: ({ collection_name }, fresh) => ({
      body: { changes: [{ alias_name: `alias-${fresh}`, collection_name }] },
    }),
    published: published('aliases/update-aliases', DefaultResponse),
  },
  'delete-alias': {
    expected: withoutRestrictions(writeAccess(404)),
    buildInput: (_names, fresh) => ({ body: { alias_name: `alias-${fresh}` } }),
    published: published('aliases/delete-alias', DefaultResponse),
    // The sample of add-alias has created it.
    sample: { status: 200 },
  },
  'get-alias-list': {
    expected: readAccess(200, 200),
    published: published('aliases/get-alias-list', GetAliasListResponse),
  },
} satisfies OperationTests;
