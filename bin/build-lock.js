// Lock of a checkout: only one launcher builds, others wait for it.
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const pollMs = 200;

/** Runs `work` while holding the lock. A lock whose process has ended is replaced. */
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
  let hasNotified = false;
  while (!tryCreateLock(lock)) {
    const text = readFileIfExists(lock);
    if (text === null) continue;
    const holder = JSON.parse(text);
    if (processStartTime(holder.pid) !== holder.startedAt) {
      removeStaleLock(lock, text);
      continue;
    }
    if (!hasNotified) process.stderr.write(`quarry: process ${holder.pid} is building; waiting for it\n`);
    hasNotified = true;
    await sleep(pollMs);
  }
}

/** Creates the file with its content in one step (a link), so that other launchers never read a part of it. */
function tryCreateLock(lock) {
  const temporaryLock = `${lock}.${process.pid}`;
  writeFileSync(
    temporaryLock,
    JSON.stringify({ pid: process.pid, startedAt: processStartTime(process.pid) }),
  );
  try {
    linkSync(temporaryLock, lock);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(temporaryLock, { force: true });
  }
}

/** Removes the lock of a dead launcher; restores it when another launcher has replaced it in the meantime. */
function removeStaleLock(lock, staleText) {
  const staleLock = `${lock}.${process.pid}.dead`;
  try {
    renameSync(lock, staleLock);
  } catch (error) {
    if (error.code === 'ENOENT') return;
    throw error;
  }
  try {
    if (readFileSync(staleLock, 'utf8') !== staleText) linkSync(staleLock, lock);
  } finally {
    rmSync(staleLock);
  }
}

/**
 * Distinguishes a process from a later one with the same id: its start time from /proc, or "alive" on systems without
 * /proc. Null when there is no such process.
 */
function processStartTime(pid) {
  const stat = readFileIfExists(`/proc/${pid}/stat`);
  // Field 2, the program name in parentheses, can contain spaces; field 22 is the start time.
  if (stat !== null) return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  try {
    process.kill(pid, 0);
    return 'alive';
  } catch (error) {
    return error.code === 'EPERM' ? 'alive' : null;
  }
}

function readFileIfExists(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return null;
    throw error;
  }
}
