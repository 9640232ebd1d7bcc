// Finds the tools of the build: npm with its node-gyp, a compiler, make, Python, the headers of Node.js.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { LaunchError } from './launch-error.js';

/**
 * Command line of npm and its node-gyp, or null. Searches `npm_execpath` (set by `npm start`), the PATH, and the folder
 * of the Node.js at `node`.
 */
export function findNpm(variables = process.env, node = process.execPath) {
  const bundledNpm = join(dirname(node), '..', 'lib', 'node_modules', 'npm', 'bin', 'npm-cli.js');
  const candidates = [variables.npm_execpath, findOnPath('npm', variables.PATH ?? ''), bundledNpm];
  for (const candidate of candidates) {
    if (candidate === undefined || candidate === null || !existsSync(candidate)) continue;
    const cli = realpathSync(candidate);
    const nodeGyp = join(dirname(cli), '..', 'node_modules', 'node-gyp', 'bin', 'node-gyp.js');
    if (existsSync(nodeGyp)) return { cli, nodeGyp };
  }
  return null;
}

/** Like `findNpm`; throws a LaunchError when there is none. */
export function requireNpm() {
  const npm = findNpm();
  if (npm === null) {
    throw new LaunchError(
      'Quarry needs npm to install its packages and to build; there is none on the PATH or beside Node.js. Install npm, then start again.',
    );
  }
  return npm;
}

/** Descriptions of the tools of the native build that are missing on this machine. */
export function missingTools() {
  const tools = [
    { title: 'a C++20 compiler', commands: [process.env.CXX, 'c++', 'g++', 'clang++'] },
    { title: 'make', commands: [process.env.MAKE, 'make', 'gmake'] },
    { title: 'python3', commands: [process.env.PYTHON, 'python3', 'python'] },
  ];
  return tools.filter((tool) => !tool.commands.some(isRunnable)).map((tool) => tool.title);
}

/** Folder with the headers of the running Node.js in include/node, or null: then node-gyp downloads them. */
export function findHeaders() {
  const prefix = dirname(dirname(realpathSync(process.execPath)));
  const header = join(prefix, 'include', 'node', 'node_version.h');
  if (!existsSync(header)) return null;
  const text = readFileSync(header, 'utf8');
  const numbers = ['MAJOR', 'MINOR', 'PATCH'].map(
    (part) => text.match(`NODE_${part}_VERSION\\s+(\\d+)`)?.[1],
  );
  return numbers.join('.') === process.versions.node ? prefix : null;
}

function isRunnable(command) {
  if (command === undefined || command === '') return false;
  // The variable can contain arguments, as in CXX="ccache g++".
  const [program = '', ...first] = command.split(' ');
  return spawnSync(program, [...first, '--version'], { stdio: 'ignore' }).status === 0;
}

function findOnPath(name, path) {
  for (const folder of path.split(delimiter)) {
    if (folder !== '' && existsSync(join(folder, name))) return join(folder, name);
  }
  return null;
}
