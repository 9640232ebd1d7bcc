import Type from 'typebox';
import { readAccess } from './expected-statuses.ts';
import { withBody } from './inputs.ts';
import { type OperationTests, published } from './operation-test.ts';

const ParseDocumentResponse = Type.Object({ pages: Type.Array(Type.String()) });

/** Operations of parsers. */
export const parserTests = {
  'parse-document': {
    expected: readAccess(200, 200),
    buildInput: withBody({ base64_data: 'eA==' }),
    bodyKind: 'document',
    published: published('parsers/parse-document', ParseDocumentResponse),
  },
} satisfies OperationTests;
