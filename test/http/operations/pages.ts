import { administratorAccess, publicAccess } from './expected-statuses.ts';
import type { OperationTests } from './operation-test.ts';

/** The dashboard and the pages about the server itself. */
export const pageTests = {
  dashboard: {
    expected: publicAccess(200),
    buildInput: () => ({}),
    recording: 'none',
  },
  asset: {
    expected: publicAccess(404),
    buildInput: () => ({ parts: { file_path: 'nothing.js' } }),
    recording: 'none',
  },
  healthz: {
    expected: publicAccess(200),
    buildInput: () => ({}),
  },
  readyz: {
    expected: publicAccess(200),
    buildInput: () => ({}),
    recording: 'none',
  },
  // The requests of this test pass through a proxy, so none of them counts as local.
  metrics: {
    expected: administratorAccess(200),
    buildInput: () => ({}),
    recording: 'none',
  },
  openapi: {
    expected: publicAccess(200),
    buildInput: () => ({}),
    recording: 'none',
  },
  'account-openapi': {
    expected: publicAccess(200),
    buildInput: () => ({}),
    recording: 'none',
  },
  docs: {
    expected: publicAccess(200),
    buildInput: () => ({}),
    recording: 'none',
  },
} satisfies OperationTests;
