// Copies what the server needs to run into a folder: the same for the archive and the Debian package.
import { chmodSync, copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { listFiles } from '../bin/fingerprint.js';
import { buildOnly, listNeededFiles, listProductionPackages } from './production-modules.js';
import { run } from './run.js';

const builtFolders = ['src', 'workers', 'chunks', 'web'];
const rootFiles = ['LICENSE', 'CHANGELOG.md'];

/**
 * Starts the server with the Node.js beside it, from any folder and through links. The prebuilt RocksDB uses AVX2 without
 * a check, and would end the process with SIGILL.
 */
const launcher = (flags) => `#!/bin/sh
if [ "$1" = serve ] && ! grep --quiet --word-regexp avx2 /proc/cpuinfo; then
  echo 'quarry: the server needs a processor with AVX2 (Intel Haswell, AMD Excavator, or newer).' >&2
  exit 1
fi
here=$(dirname "$(readlink -f "$0")")
exec "$here/bin/node" ${flags} "$here/dist/src/cli/main.js" "$@"
`;

export function stageApplication({ root, runtime, manifest, folder }) {
  stageBuild(root, folder);
  copyFile(join(root, 'build', 'Release', 'quarry.node'), join(folder, 'build', 'Release', 'quarry.node'));
  copyFile(runtime.node.binary, join(folder, 'bin', 'node'), 0o755);
  copyFile(join(runtime.node.folder, 'LICENSE'), join(folder, 'bin', 'LICENSE'));
  writeText(join(folder, 'quarry'), launcher(manifest.scripts.start.match(/--\S+/g).join(' ')), 0o755);
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  for (const path of listProductionPackages(root, lock))
    stagePackage(join(root, path), join(folder, path), path.slice(path.lastIndexOf('node_modules/') + 13));
  const { http } = runtime;
  stagePackage(http.folder, join(folder, 'node_modules', http.name), http.name);
  const { name, version, description, license, type } = manifest;
  const dependencies = { ...runtimeDependencies(manifest), [http.name]: http.version };
  delete dependencies['node-addon-api'];
  writeJson(join(folder, 'package.json'), { name, version, private: true, description, license, type, dependencies });
}

/** Compiled code, models and documentation, without maps. */
export function stageBuild(root, folder) {
  for (const name of builtFolders)
    for (const path of listFiles(root, join('dist', name), (file) => !file.endsWith('.map')))
      copyFile(join(root, path), join(folder, path));
  const tracked = run('git', ['ls-files', 'docs', 'samples', 'models/zembed-1', 'models/zerank'], { cwd: root });
  for (const path of [...tracked.trim().split('\n'), ...rootFiles]) copyFile(join(root, path), join(folder, path));
}

export function runtimeDependencies({ dependencies }) {
  return Object.fromEntries(Object.entries(dependencies).filter(([name]) => !buildOnly.has(name)));
}

function stagePackage(source, target, name) {
  for (const path of listNeededFiles(source, name)) copyFile(join(source, path), join(target, path));
}

export function copyFile(source, target, mode = 0o644) {
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(source, target);
  chmodSync(target, mode);
}

export function copyFolder(source, target) {
  cpSync(source, target, { recursive: true });
}

export function writeText(path, text, mode = 0o644) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, mode);
}

export function writeJson(path, value) {
  writeText(path, `${JSON.stringify(value, null, 2)}\n`);
}
