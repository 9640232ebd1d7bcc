import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { seeded } from '../store/seeded.ts';
import { fileMsMax } from '../waiting.ts';
import { Simulation } from './simulation.ts';

const chance = seeded();
const steps = Number(process.env.QUARRY_SIMULATION_STEPS ?? 800);

t.test(
  `${steps} random steps, failed writes, restarts and crashes leave exactly what a plain map says (seed ${chance.seed})`,
  { timeout: fileMsMax },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'quarry-simulate-'));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    // The timers of the rooms keep no process alive, and a simulated one has no door.
    const alive = setInterval(() => {}, 1_000);
    t.teardown(() => clearInterval(alive));
    const simulation = new Simulation(t, chance, folder);
    await simulation.run(steps);
    const { seen } = simulation;
    t.comment(JSON.stringify(seen));
    for (const [what, count] of Object.entries(seen)) t.ok(count > 0, `${what} happened`);
  },
);
