import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestRandom } from '../storage/test-random.ts';
import { deleteFolder } from '../support/delete-folder.ts';
import type { Test } from '../support/tap.ts';
import { CrashRounds } from './rounds.ts';

/**
 * Runs the rounds on a new data directory. It is deleted after the server has ended, also when the time limit
 * ends the test: a running server without its data directory answers 500.
 */
export async function runCrashTest(
  t: Test,
  random: TestRandom,
  rounds: Parameters<CrashRounds['run']>[0],
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'quarry-crash-'));
  const crashes = new CrashRounds({ reporter: t, random, data: join(folder, 'data') });
  t.teardown(async () => {
    await crashes.close();
    await deleteFolder(folder);
  });
  await crashes.run(rounds);
  t.ok(crashes.model.acknowledged > 0);
}
