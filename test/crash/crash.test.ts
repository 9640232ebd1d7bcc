import { createTestRandom } from '../storage/test-random.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import type { KillMoment } from './rounds.ts';
import { runCrashTest } from './run-crash-test.ts';

const random = createTestRandom();
/**
 * Every kill moment once, and those that exist together at once, because a start costs more than a round: long files are
 * parsed while parser processes are killed, and the server is killed at a random moment meanwhile. `crash.slow.ts` repeats
 * them one by one.
 */
const rounds: readonly (readonly KillMoment[])[] = [
  ['after some replies'],
  ['during the parsing of long files', 'parser processes first', 'at a random moment'],
  ['during a snapshot'],
  ['during the deletion of a large collection'],
  ['stopped, and a snapshot damaged', 'stopped, and a snapshot deleted'],
];

t.test(
  `acknowledged writes survive kill -9 and damaged snapshots in ${rounds.length} rounds, complete and exactly once, and deletions persist (seed ${random.seed})`,
  { timeout: testFileMsMax },
  (t) => runCrashTest(t, random, rounds),
);
