import Type from 'typebox';
import { readAccess } from './expected-statuses.ts';
import { type OperationTests, published } from './operation-test.ts';

const StatusResponse = Type.Object({
  num_documents: Type.Integer(),
  num_parsing_documents: Type.Integer(),
  num_indexing_documents: Type.Integer(),
  num_indexed_documents: Type.Integer(),
  num_failed_documents: Type.Integer(),
  num_indexed_bytes: Type.Integer(),
});

/** Operations of status. */
export const statusTests = {
  'get-status': {
    expected: readAccess(200),
    published: published('status/get-status', StatusResponse),
  },
} satisfies OperationTests;
