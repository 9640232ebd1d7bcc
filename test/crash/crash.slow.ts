import { join } from 'node:path';
import t from 'tap';
import { createTestRandom } from '../storage/test-random.ts';
import { CrashRounds, type KillMoment, killMoments } from './rounds.ts';

const random = createTestRandom();
const roundsMax = Number(process.env.QUARRY_CRASH_ROUNDS ?? 200);
/** Cheap kill moments are the most frequent; every fortieth round waits for a snapshot. */
const rounds = Array.from({ length: roundsMax }, (_, round): KillMoment => {
  if (round % 40 === 39) return 'during a snapshot';
  const ending = killMoments[random.below(killMoments.length)]!;
  return ending === 'during a snapshot' ? 'after some answers' : ending;
});

t.test(
  `what was acknowledged survives ${rounds.length} times kill -9, wholly and once (seed ${random.seed})`,
  { timeout: 3_600_000 },
  async (t) => {
    const crashes = new CrashRounds({ reporter: t, random, data: join(t.testdir(), 'data') });
    await crashes.run(rounds);
    t.ok(crashes.model.acknowledged > 0);
  },
);
