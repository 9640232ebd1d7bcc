#!/usr/bin/env node
// The launcher: installs and builds what is missing, then runs the command line. It uses only modules of Node.js, because
// a fresh clone has no others.
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ensureBuilt, ensureRunnable } from './build.js';
import { LaunchError } from './launch-error.js';

const nodeVersionMin = [20, 19];
const root = dirname(dirname(fileURLToPath(import.meta.url)));

function isNodeSupported() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  return major > nodeVersionMin[0] || (major === nodeVersionMin[0] && minor >= nodeVersionMin[1]);
}

async function launch() {
  if (!isNodeSupported()) {
    throw new LaunchError(
      `Quarry needs Node.js ${nodeVersionMin.join('.')} or newer; this is ${process.version}.`,
    );
  }
  if (process.argv[2] === 'build') {
    await ensureBuilt(root);
    return;
  }
  await ensureRunnable(root);
  await import(pathToFileURL(join(root, 'dist', 'src', 'cli', 'main.js')).href);
}

try {
  await launch();
} catch (error) {
  if (!(error instanceof LaunchError)) throw error;
  process.stderr.write(`quarry: ${error.message}\n`);
  process.exitCode = error.exitCode;
}
