import { writeAccess } from './expected-statuses.ts';
import type { OperationExpectation } from './operation-expectation.ts';
import { withBody } from './operation-inputs.ts';

/** Expected statuses of the operations of sources, on a server that allows no folder. */
export const sourceExpectations: Readonly<Record<string, OperationExpectation>> = {
  'add-source': {
    expected: { ...writeAccess(403), restricted: 403, filtered: 403 },
    buildInput: ({ collection_name }, fresh) => ({
      body: { source_name: fresh, collection_name, directory: { path: '/no/such/folder' } },
    }),
  },
  'update-source': {
    expected: { ...writeAccess(404), restricted: 403, filtered: 403 },
    buildInput: (_names, fresh) => ({ body: { source_name: fresh } }),
  },
  'delete-source': {
    expected: { ...writeAccess(404), restricted: 403, filtered: 403 },
    buildInput: (_names, fresh) => ({ body: { source_name: fresh } }),
  },
  'get-source': {
    expected: { ...writeAccess(404), restricted: 403, filtered: 403 },
    buildInput: (_names, fresh) => ({ body: { source_name: fresh } }),
  },
  'get-source-list': {
    expected: { ...writeAccess(200, 200), restricted: 403, filtered: 403 },
    buildInput: withBody(),
  },
  'sync-source': {
    expected: { ...writeAccess(404), restricted: 403, filtered: 403 },
    buildInput: (_names, fresh) => ({ body: { source_name: fresh } }),
  },
  'preview-source': {
    expected: { ...writeAccess(404), restricted: 403, filtered: 403 },
    buildInput: (_names, fresh) => ({ body: { source_name: fresh } }),
  },
  'get-source-item-list': {
    expected: { ...writeAccess(404), restricted: 403, filtered: 403 },
    buildInput: (_names, fresh) => ({ body: { source_name: fresh } }),
  },
  'pause-source': {
    expected: { ...writeAccess(404), restricted: 403, filtered: 403 },
    buildInput: (_names, fresh) => ({ body: { source_name: fresh } }),
  },
  'resume-source': {
    expected: { ...writeAccess(404), restricted: 403, filtered: 403 },
    buildInput: (_names, fresh) => ({ body: { source_name: fresh } }),
  },
};
