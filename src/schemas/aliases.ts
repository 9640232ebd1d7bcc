import { type Static, Type } from './typebox.ts';
import { CollectionName, Component, Nullable, Timestamp } from './wire.ts';

const AliasName = () =>
  Type.String({
    description: 'Name of the alias: 1 to 1,024 bytes of UTF-8, without NUL; not the name of a collection.',
    examples: ['live'],
  });

export const AddAliasRequest = Component('AddAliasRequest', 'An alias to create.', {
  alias_name: AliasName(),
  collection_name: CollectionName(),
});
export type AddAliasRequest = Static<typeof AddAliasRequest>;

export const AliasChange = Component('AliasChange', 'New state of an alias.', {
  alias_name: AliasName(),
  collection_name: Nullable(Type.String(), {
    description: 'The collection that the alias names from now on; null deletes the alias.',
    examples: ['handbook-2'],
  }),
});
export type AliasChange = Static<typeof AliasChange>;

export const UpdateAliasesRequest = Component(
  'UpdateAliasesRequest',
  'Changes that take effect at the same time.',
  {
    changes: Type.Array(AliasChange, { description: '1 to 64 changes, of different aliases.' }),
  },
);
export type UpdateAliasesRequest = Static<typeof UpdateAliasesRequest>;

export const DeleteAliasRequest = Component('DeleteAliasRequest', 'An alias to delete.', {
  alias_name: AliasName(),
});
export type DeleteAliasRequest = Static<typeof DeleteAliasRequest>;

export const GetAliasListResponse = Component(
  'GetAliasListResponse',
  'All aliases that the caller can use.',
  {
    aliases: Type.Array(
      Type.Object({
        alias_name: Type.String(),
        collection_name: Type.String({ description: 'The collection that the alias names.' }),
        created_at: Timestamp('Time when the alias was created.'),
      }),
      { description: 'In ascending order of their names.' },
    ),
  },
);
export type GetAliasListResponse = Static<typeof GetAliasListResponse>;

export const RenameCollectionRequest = Component(
  'RenameCollectionRequest',
  'A collection and its new name.',
  {
    collection_name: CollectionName(),
    new_collection_name: Type.String({
      description: 'The new name. The name of an existing collection or alias returns 409.',
      examples: ['manual'],
    }),
  },
);
export type RenameCollectionRequest = Static<typeof RenameCollectionRequest>;
