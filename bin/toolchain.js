// Finds what the build needs: npm with the node-gyp inside it, a compiler, make, Python, Node's headers.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

/**
 * npm's command line and the node-gyp it brings, or null. Looks where npm said it is (under `npm start`), on the path,
 * and beside the Node.js at `node`.
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

/** What the native build needs and this machine lacks, in words; empty when it can build. */
export function missingTools() {
  const tools = [
    { words: 'a C++20 compiler', names: [process.env.CXX, 'c++', 'g++', 'clang++'] },
    { words: 'make', names: [process.env.MAKE, 'make', 'gmake'] },
    { words: 'python3', names: [process.env.PYTHON, 'python3', 'python'] },
  ];
  return tools.filter((tool) => !tool.names.some(isRunnable)).map((tool) => tool.words);
}

/** Folder whose include/node fits the running Node.js, or null: then node-gyp downloads the headers. */
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
  // A compiler may be given with arguments, as in CXX="ccache g++".
  const [program = '', ...first] = command.split(' ');
  return spawnSync(program, [...first, '--version'], { stdio: 'ignore' }).status === 0;
}

function findOnPath(name, path) {
  for (const folder of path.split(delimiter)) {
    if (folder !== '' && existsSync(join(folder, name))) return join(folder, name);
  }
  return null;
}
