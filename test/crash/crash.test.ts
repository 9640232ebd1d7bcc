import { createTestRandom } from '../storage/test-random.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { type KillMoment, killMoments } from './rounds.ts';
import { runCrashTest } from './run-crash-test.ts';

const random = createTestRandom();
/** Every kill moment once; the two cheap ones several times. */
const rounds: readonly KillMoment[] = [
  'at a random moment',
  'after some replies',
  ...killMoments,
  'at a random moment',
];

t.test(
  `acknowledged writes survive ${rounds.length} times kill -9, complete and exactly once, and deletions persist (seed ${random.seed})`,
  { timeout: testFileMsMax },
  (t) => runCrashTest(t, random, rounds),
);
