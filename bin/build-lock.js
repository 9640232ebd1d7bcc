// Two launchers at once must not build over each other: one holds the lock, the others wait for it.
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const pollMs = 200;

/** Runs `work` while no other launcher of the same checkout does. A lock whose process is gone is taken over. */
export async function withBuildLock(root, work) {
  const folder = join(root, 'build');
  mkdirSync(folder, { recursive: true });
  const lock = join(folder, 'launcher.lock');
  await acquire(lock);
  const release = () => rmSync(lock, { force: true });
  process.once('exit', release);
  try {
    await work();
  } finally {
    process.off('exit', release);
    release();
  }
}

async function acquire(lock) {
  let told = false;
  while (!tryCreate(lock)) {
    const text = readIfPresent(lock);
    if (text === null) continue;
    const holder = JSON.parse(text);
    if (startOfProcess(holder.pid) !== holder.startedAt) {
      takeAway(lock, text);
      continue;
    }
    if (!told) process.stderr.write(`quarry: process ${holder.pid} is building; waiting for it\n`);
    told = true;
    await sleep(pollMs);
  }
}

/** The file appears with its content in one step (a link), so that nobody reads half of it. */
function tryCreate(lock) {
  const draft = `${lock}.${process.pid}`;
  writeFileSync(draft, JSON.stringify({ pid: process.pid, startedAt: startOfProcess(process.pid) }));
  try {
    linkSync(draft, lock);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Removes a dead launcher's lock; when another waiter was faster and this is already its new lock, puts it back. */
function takeAway(lock, deadText) {
  const aside = `${lock}.${process.pid}.dead`;
  try {
    renameSync(lock, aside);
  } catch (error) {
    if (error.code === 'ENOENT') return;
    throw error;
  }
  try {
    if (readFileSync(aside, 'utf8') !== deadText) linkSync(aside, lock);
  } finally {
    rmSync(aside);
  }
}

/**
 * What tells this process from a later one with the same number: its start time where /proc has it, else only that it
 * lives. Null when there is no such process.
 */
function startOfProcess(pid) {
  const stat = readIfPresent(`/proc/${pid}/stat`);
  // The second field, the program's name in parentheses, may hold spaces; the start time is field 22.
  if (stat !== null) return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  try {
    process.kill(pid, 0);
    return 'alive';
  } catch (error) {
    return error.code === 'EPERM' ? 'alive' : null;
  }
}

function readIfPresent(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return null;
    throw error;
  }
}
