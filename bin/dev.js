// `npm run dev [-- FLAGS]` runs `quarry serve` with source maps; after a change of a source it builds what is stale and
// restarts the server. After a failed build the running server stays.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { watch } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureRunnable } from './build.js';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const watched = ['src', 'workers', 'web', 'native', 'binding.gyp', 'package-lock.json'];
/** Editors and git write several files at once. */
const quietMs = 150;
const program = join(root, 'dist', 'src', 'cli', 'main.js');

let server = null;
let timer = null;
let isBuilding = false;
let hasChanged = false;

for (const path of watched) watch(join(root, path), { recursive: true }, scheduleUpdate);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.once(signal, () => void stopServer().then(() => process.exit()));
await update();

function scheduleUpdate() {
  clearTimeout(timer);
  timer = setTimeout(update, quietMs);
}

async function update() {
  hasChanged = true;
  if (isBuilding) return;
  isBuilding = true;
  while (hasChanged) {
    hasChanged = false;
    await buildAndRestart();
  }
  isBuilding = false;
}

async function buildAndRestart() {
  try {
    await ensureRunnable(root);
  } catch (error) {
    process.stderr.write(`quarry: ${error.message}\nquarry: waiting for a change\n`);
    return;
  }
  await stopServer();
  server = spawn(process.execPath, [program, 'serve', ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { ...process.env, NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --enable-source-maps`.trim() },
  });
}

/** The server answers running requests before it exits. */
async function stopServer() {
  if (server === null || server.exitCode !== null || server.signalCode !== null) return;
  server.kill('SIGTERM');
  await once(server, 'exit');
}
