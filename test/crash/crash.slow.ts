import { createTestRandom } from '../storage/test-random.ts';
import t from '../support/tap.ts';
import { type KillMoment, killMoments } from './rounds.ts';
import { runCrashTest } from './run-crash-test.ts';

const random = createTestRandom();
const roundsMax = Number(process.env.QUARRY_CRASH_ROUNDS ?? 50);
/** Cheap kill moments are the most frequent; every 25th round waits for a snapshot. */
const rounds = Array.from({ length: roundsMax }, (_, round): KillMoment => {
  if (round % 25 === 24) return 'during a snapshot';
  const ending = killMoments[random.below(killMoments.length)]!;
  return ending === 'during a snapshot' ? 'after some replies' : ending;
});

t.test(
  `acknowledged writes survive ${rounds.length} times kill -9, complete and exactly once (seed ${random.seed})`,
  { timeout: 3_600_000 },
  (t) => runCrashTest(t, random, rounds),
);
