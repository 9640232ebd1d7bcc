// Runs the tools of the packages.
import { spawnSync } from 'node:child_process';

/** The message tells the person who packages what to do. */
export class PackageError extends Error {}

/** Returns the output; throws a PackageError with the error output of the tool. */
export function run(command, words, options = {}) {
  const result = spawnSync(command, words, {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    ...options,
    // The locale decides the order of sorted names.
    env: { ...process.env, LC_ALL: 'C', TZ: 'UTC', ...options.env },
  });
  if (result.error !== undefined)
    throw new PackageError(`${command} cannot be run (${result.error.message}). Install it, then try again.`);
  if (result.status !== 0)
    throw new PackageError(`${command} ${words.join(' ')} failed:\n${result.stderr}${result.stdout}`);
  return result.stdout;
}

/** Throws if a tool is missing, before the work begins. */
export function requireTools(tools) {
  const missing = tools.filter(
    ({ command }) => spawnSync(command, ['--version'], { stdio: 'ignore' }).status !== 0,
  );
  if (missing.length > 0)
    throw new PackageError(
      `Packages need ${missing.map(({ command }) => command).join(' and ')}. ` +
        `Debian, Ubuntu: apt-get install ${missing.map(({ debian }) => debian).join(' ')}.`,
    );
}
