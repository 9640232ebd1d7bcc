import { readAccess } from './expected-statuses.ts';
import { withBody } from './inputs.ts';
import type { OperationTests } from './operation-test.ts';

/** Operations of the Model Context Protocol. */
export const mcpTests = {
  mcp: {
    expected: readAccess(200, 200),
    buildInput: withBody({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    recording: 'none',
  },
} satisfies OperationTests;
