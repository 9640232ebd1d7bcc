// `npm run test:one -- test/x.test.ts [FLAGS]` compiles TypeScript and runs one test file. It does not rebuild the native
// engine and the dashboard; `npm run build` does. FLAGS are flags of Node.js, such as --inspect-brk.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureCompiled } from './build.js';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [file, ...flags] = process.argv.slice(2);
/** Seconds, as in `.taprc`. */
const timeout = '1200';

if (file === undefined || !file.endsWith('.ts') || !existsSync(resolve(file))) {
  process.stderr.write('Usage: npm run test:one -- test/<path>.test.ts\n');
  process.exit(2);
}
try {
  await ensureCompiled(root);
} catch (error) {
  process.stderr.write(`quarry: ${error.message}\n`);
  process.exit(1);
}
const compiled = join(root, 'dist', relative(root, resolve(file)).replace(/\.ts$/, '.js'));
const test = spawn(process.execPath, ['--enable-source-maps', ...flags, compiled], {
  cwd: root,
  stdio: 'inherit',
  env: { TAP_TIMEOUT: timeout, TAP_TYPE_STRIP_ONLY: '1', ...process.env },
});
test.once('close', (code, signal) => {
  process.exitCode = signal === null ? code : 1;
});
