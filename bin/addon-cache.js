// Compiled addons of this user, by the fingerprint of their sources: a second clone, or a return to an earlier commit,
// compiles nothing. The addon runs with the rights of the user, so that only files that no other user could have written
// are read.
import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const entriesMax = 8;
const writableByOthers = 0o022;
/** The fingerprint covers sources, not flags: with one of these variables, the cache is not used. */
const compilerVariables = ['CC', 'CXX', 'CFLAGS', 'CXXFLAGS', 'CPPFLAGS', 'LDFLAGS', 'NATIVE_WERROR'];

/** Returns the cached addon, or null. Reports an entry that another user could have changed, and does not use it. */
export function readCachedAddon(fingerprint, variables = process.env) {
  if (isBypassed(variables)) return null;
  const folders = cacheFolders(variables);
  for (const folder of folders) {
    const status = lstatIfExists(folder);
    if (status === null) return null;
    if (!status.isDirectory() || !isPrivate(status)) return reject(folder);
  }
  return readPrivateFile(entryPath(folders, fingerprint));
}

/** Adds an addon to the cache and removes the oldest entries. A cache that cannot be written is reported only. */
export function writeCachedAddon(fingerprint, content, variables = process.env) {
  if (isBypassed(variables)) return;
  const folders = cacheFolders(variables);
  try {
    mkdirSync(folders.at(-1), { recursive: true, mode: 0o700 });
    const untrusted = folders.find((folder) => !isPrivate(lstatSync(folder)));
    if (untrusted !== undefined) {
      reject(untrusted);
      return;
    }
    writeWhole(entryPath(folders, fingerprint), content);
    removeOldest(folders.at(-1));
  } catch (error) {
    process.stderr.write(`quarry: the compiled engine could not be cached: ${error.message}\n`);
  }
}

function isBypassed(variables) {
  return compilerVariables.some((name) => variables[name]);
}

/** From the cache folder of the user down to the one with the addons. */
function cacheFolders(variables) {
  const base = variables.XDG_CACHE_HOME || join(homedir(), '.cache');
  return [base, join(base, 'quarry'), join(base, 'quarry', 'native')];
}

function entryPath(folders, fingerprint) {
  return join(folders.at(-1), `${fingerprint}.node`);
}

function isPrivate(status) {
  return status.uid === process.getuid() && (status.mode & writableByOthers) === 0;
}

/** Checks the opened file, because the path could name another one a moment later. */
function readPrivateFile(path) {
  let file;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    if (error.code === 'ELOOP') return reject(path);
    throw error;
  }
  try {
    const status = fstatSync(file);
    if (!status.isFile() || !isPrivate(status)) return reject(path);
    // The time of the last use decides which entry is removed.
    utimesSync(path, new Date(), new Date());
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

function writeWhole(path, content) {
  const temporary = `${path}.${randomUUID()}.part`;
  try {
    const file = openSync(temporary, 'wx', 0o600);
    try {
      writeFileSync(file, content);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } finally {
    rmSync(temporary, { force: true });
  }
}

function removeOldest(folder) {
  const entries = readdirSync(folder)
    .filter((name) => name.endsWith('.node'))
    .map((name) => ({ path: join(folder, name), usedAt: statSync(join(folder, name)).mtimeMs }))
    .sort((left, right) => right.usedAt - left.usedAt);
  for (const { path } of entries.slice(entriesMax)) rmSync(path, { force: true });
}

function reject(path) {
  process.stderr.write(
    `quarry: the cached engine is not used, because another user can change ${path}; chmod go-w, or delete it\n`,
  );
  return null;
}

function lstatIfExists(path) {
  return lstatSync(path, { throwIfNoEntry: false }) ?? null;
}
