import { existsSync, realpathSync } from 'node:fs';
import { basename, delimiter, dirname, join, relative } from 'node:path';

/** How this process was started. */
export interface ProgramStart {
  /** Absolute path of the script that Node.js runs. */
  readonly script: string;
  readonly workingFolder: string;
  /** Folders of programs: the variable `PATH`. */
  readonly searchPath: string;
}

/**
 * Returns the command that starts the program in a shell, without arguments: `quarry` if a folder of `PATH` has it, else
 * `npx quarry`, `./quarry` or `node bin/quarry.js`, with paths relative to the working folder.
 * `root`: folder of package.json.
 */
export function describeProgram(start: ProgramStart, root: string): string {
  const program = findProgram(start.script, root);
  const folder = dirname(program);
  if (basename(folder) === '.bin' && basename(dirname(folder)) === 'node_modules') return 'npx quarry';
  if (program.endsWith('.js')) return `node ${quote(relativePath(program, start.workingFolder))}`;
  if (isOnPath(program, start.searchPath)) return basename(program);
  const path = relativePath(program, start.workingFolder);
  return quote(path.includes('/') ? path : `./${path}`);
}

/** Archives, the Debian package and `npm run dev` run the compiled code; commands of theirs start with a launcher. */
function findProgram(script: string, root: string): string {
  if (basename(script) !== 'main.js') return script;
  const launchers = [join(root, 'quarry'), join(root, 'bin', 'quarry.js')];
  return launchers.find((path) => existsSync(path)) ?? script;
}

/** Whether the shell finds this program by its name. */
function isOnPath(program: string, searchPath: string): boolean {
  const name = basename(program);
  const first = searchPath
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
  return first !== undefined && realpathSync(first) === realpathSync(program);
}

/** Paths outside of the folder stay absolute. */
function relativePath(path: string, folder: string): string {
  const short = relative(folder, path);
  return short.startsWith('..') ? path : short;
}

function quote(path: string): string {
  return /^[\w./@+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
