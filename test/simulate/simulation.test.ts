import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestRandom } from '../storage/test-random.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { Simulation } from './simulation.ts';

const random = createTestRandom();
const steps = Number(process.env.QUARRY_SIMULATION_STEPS ?? 800);

t.test(
  `${steps} random steps, failed writes, restarts and crashes match a plain map (seed ${random.seed})`,
  { timeout: testFileMsMax },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'quarry-simulate-'));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    // The components' timers do not keep the process alive, and a simulated process has no HTTP server.
    const alive = setInterval(() => {}, 1_000);
    t.teardown(() => clearInterval(alive));
    const simulation = new Simulation(t, random, folder);
    await simulation.run(steps);
    const { counts } = simulation;
    t.comment(JSON.stringify(counts));
    for (const [what, count] of Object.entries(counts)) t.ok(count > 0, `${what} happened`);
  },
);
