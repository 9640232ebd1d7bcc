import { join } from 'node:path';
import t from 'tap';
import { seeded } from '../store/seeded.ts';
import { fileMsMax } from '../waiting.ts';
import { CrashRounds, type Ending, endings } from './rounds.ts';

const chance = seeded();
/** One of every ending, and some of the two that are cheap. */
const rounds: readonly Ending[] = ['at some moment', 'after some answers', ...endings, 'at some moment'];

t.test(
  `what was acknowledged survives ${rounds.length} times kill -9, wholly and once, and what was deleted stays gone (seed ${chance.seed})`,
  { timeout: fileMsMax },
  async (t) => {
    const crashes = new CrashRounds({ t, chance, data: join(t.testdir(), 'data') });
    await crashes.run(rounds);
    t.ok(crashes.world.acknowledged > 0);
  },
);
