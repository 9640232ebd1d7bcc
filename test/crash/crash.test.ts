import { createTestRandom } from '../storage/test-random.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { killMoments } from './rounds.ts';
import { runCrashTest } from './run-crash-test.ts';

const random = createTestRandom();

t.test(
  `acknowledged writes survive ${killMoments.length} times kill -9, complete and exactly once, and deletions persist (seed ${random.seed})`,
  { timeout: testFileMsMax },
  // Every kill moment once; crash.slow.ts repeats them.
  (t) => runCrashTest(t, random, killMoments),
);
