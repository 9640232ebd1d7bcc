import { join } from 'node:path';
import t from 'tap';
import { createTestRandom } from '../storage/test-random.ts';
import { testFileMsMax } from '../timeouts.ts';
import { CrashRounds, type KillMoment, killMoments } from './rounds.ts';

const random = createTestRandom();
/** Every kill moment once; the two cheap ones several times. */
const rounds: readonly KillMoment[] = [
  'at some moment',
  'after some answers',
  ...killMoments,
  'at some moment',
];

t.test(
  `what was acknowledged survives ${rounds.length} times kill -9, wholly and once, and what was deleted stays gone (seed ${random.seed})`,
  { timeout: testFileMsMax },
  async (t) => {
    const crashes = new CrashRounds({ reporter: t, random, data: join(t.testdir(), 'data') });
    await crashes.run(rounds);
    t.ok(crashes.model.acknowledged > 0);
  },
);
