import { administratorAccess } from './expected-statuses.ts';
import type { OperationTests } from './operation-test.ts';

/** Operations of backups. */
export const backupTests = {
  'create-backup': {
    expected: administratorAccess(400),
    // The server has a target for backups.
    sample: { status: 200 },
  },
  'get-backup-status': {
    expected: administratorAccess(200),
  },
} satisfies OperationTests;
