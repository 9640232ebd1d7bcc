import Type from 'typebox';

/** Reply shapes of the operations on aliases, exports and copies. */

export const GetCollectionInfoResponse = Type.Object({
  collection: Type.Object({
    id: Type.String(),
    collection_name: Type.String(),
    created_at: Type.String(),
    num_shards: Type.Integer(),
    embedding_model: Type.String(),
    dimensions: Type.Integer(),
  }),
});
export const GetAliasListResponse = Type.Object({
  aliases: Type.Array(
    Type.Object({ alias_name: Type.String(), collection_name: Type.String(), created_at: Type.String() }),
  ),
});
export const CloneCollectionResponse = Type.Object({
  num_documents: Type.Integer(),
  path_gt: Type.Union([Type.String(), Type.Null()]),
});
export const ExportDocumentsResponse = Type.Object({
  documents: Type.Array(
    Type.Object({
      path: Type.String(),
      metadata: Type.Object({}),
      content: Type.Union([Type.Object({ type: Type.String() }), Type.Null()]),
      sha256: Type.String(),
      size: Type.Integer(),
      file_url: Type.Union([Type.String(), Type.Null()]),
      index_status: Type.String(),
      error: Type.Union([Type.String(), Type.Null()]),
      error_code: Type.Union([Type.String(), Type.Null()]),
      created_at: Type.String(),
    }),
  ),
});
