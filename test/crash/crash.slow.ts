import { join } from 'node:path';
import t from 'tap';
import { seeded } from '../store/seeded.ts';
import { CrashRounds, type Ending, endings } from './rounds.ts';

const chance = seeded();
const roundsMax = Number(process.env.QUARRY_CRASH_ROUNDS ?? 200);
/** The cheap endings come most often; every fortieth round waits for a snapshot. */
const rounds = Array.from({ length: roundsMax }, (_, round): Ending => {
  if (round % 40 === 39) return 'during a snapshot';
  const ending = endings[chance.below(endings.length)]!;
  return ending === 'during a snapshot' ? 'after some answers' : ending;
});

t.test(
  `what was acknowledged survives ${rounds.length} times kill -9, wholly and once (seed ${chance.seed})`,
  { timeout: 3_600_000 },
  async (t) => {
    const crashes = new CrashRounds({ t, chance, data: join(t.testdir(), 'data') });
    await crashes.run(rounds);
    t.ok(crashes.world.acknowledged > 0);
  },
);
