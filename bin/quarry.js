#!/usr/bin/env node
// The launcher: makes sure that what it is about to run is installed and built, then hands over. It uses only
// Node's own modules, because on a fresh clone there is nothing else.
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ensureBuilt, LaunchFailure } from './build.js';

const nodeVersionMin = [20, 19];
const root = dirname(dirname(fileURLToPath(import.meta.url)));

function isNodeSupported() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  return major > nodeVersionMin[0] || (major === nodeVersionMin[0] && minor >= nodeVersionMin[1]);
}

async function launch() {
  if (!isNodeSupported()) {
    throw new LaunchFailure(
      `Quarry needs Node.js ${nodeVersionMin.join('.')} or newer; this is ${process.version}.`,
    );
  }
  await ensureBuilt(root);
  if (process.argv[2] === 'build') return;
  await import(pathToFileURL(join(root, 'dist', 'src', 'cli', 'main.js')).href);
}

try {
  await launch();
} catch (error) {
  if (!(error instanceof LaunchFailure)) throw error;
  process.stderr.write(`quarry: ${error.message}\n`);
  process.exitCode = error.exitCode;
}
