import { renameSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';

/**
 * Preloaded into a server: SIGWINCH starts a CPU profile of the main thread, the next one ends it and writes it
 * to the file in `BENCH_PROFILE`. A server handles SIGUSR2 itself: it is replaced by a new process.
 */
const file = process.env.BENCH_PROFILE;
const samplingIntervalUs = 200;
let session: Session | null = null;

async function toggle(path: string): Promise<void> {
  if (session === null) {
    session = new Session();
    session.connect();
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: samplingIntervalUs });
    await session.post('Profiler.start');
    return;
  }
  const { profile } = await session.post('Profiler.stop');
  session.disconnect();
  session = null;
  // Renamed, so that a reader never sees a part of it.
  writeFileSync(`${path}.part`, JSON.stringify(profile));
  renameSync(`${path}.part`, path);
}

if (file !== undefined) process.on('SIGWINCH', () => void toggle(file));
