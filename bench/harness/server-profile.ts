import { readFile, rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CpuProfile, type ProfileStage, stageShares } from './cpu-profile.ts';
import { cpuMsOf, threadCpuMs } from './cpu-time.ts';
import { resolveSources } from './profile-sources.ts';

/** CPU of a server under load: main thread by stage, and the other threads. */
export interface ServerProfile {
  /** CPU of the main thread in the CPU of the process, 0 to 1; null if the system does not report it. */
  readonly mainThreadShare: number | null;
  /** Share of each stage in the CPU of the main thread; null if the load was too short for a sample. */
  readonly stages: Readonly<Record<ProfileStage, number>> | null;
}

const writeMsMax = 60_000;
const pollMs = 50;
/** Time for the signal to arrive before the load starts. */
const startMs = 200;

/** Profiles a server that was started with `profileFile` while `load` runs. */
export async function profileServer(
  { pid, profileFile }: { readonly pid: number; readonly profileFile: string },
  load: () => Promise<unknown>,
): Promise<ServerProfile> {
  process.kill(pid, 'SIGWINCH');
  await sleep(startMs);
  const before = readCpu(pid);
  await load();
  const after = readCpu(pid);
  process.kill(pid, 'SIGWINCH');
  const profile = await readProfile(profileFile);
  const shares = stageShares(resolveSources(profile));
  const known = before !== null && after !== null && after.all > before.all;
  return {
    mainThreadShare: known ? Math.min(1, (after.main - before.main) / (after.all - before.all)) : null,
    stages: shares && (Object.fromEntries(shares) as Record<ProfileStage, number>),
  };
}

function readCpu(pid: number): { readonly main: number; readonly all: number } | null {
  const [main, all] = [threadCpuMs(pid, pid), cpuMsOf(pid)];
  return main === null || all === null ? null : { main, all };
}

async function readProfile(path: string): Promise<CpuProfile> {
  const until = performance.now() + writeMsMax;
  for (;;) {
    const text = await readFile(path, 'utf8').catch(() => null);
    if (text !== null) {
      await rm(path);
      return JSON.parse(text) as CpuProfile;
    }
    if (performance.now() > until)
      throw new Error(`The server wrote no CPU profile within ${writeMsMax / 1_000} s.`);
    await sleep(pollMs);
  }
}
