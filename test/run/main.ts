import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { TapDigest } from './tap-digest.ts';

/**
 * `node dist/test/run/main.js [--totals=FILE] [words for files.js]` runs the tests and prints a line per finished file,
 * the whole output of failed files, and finally the failed tests and the totals. The exit status is that of tap.
 * `--totals` also writes the totals as JSON.
 */
const totalsFlag = '--totals=';
const commandLineArguments = process.argv.slice(2);
const totalsFile = commandLineArguments.find((word) => word.startsWith(totalsFlag))?.slice(totalsFlag.length);
const words = commandLineArguments.filter((word) => !word.startsWith(totalsFlag));

const started = performance.now();
const digest = new TapDigest((line) => void process.stdout.write(`${line}\n`));
const program = fileURLToPath(new URL('files.js', import.meta.url));
const tap = spawn(process.execPath, [program, ...words], { stdio: ['inherit', 'pipe', 'inherit'] });
const ended = once(tap, 'close');
for await (const line of createInterface({ input: tap.stdout })) digest.line(line);
const [status] = (await ended) as [number | null];

const summary = digest.summary((performance.now() - started) / 1_000);
process.stdout.write(`\n${summary.join('\n')}\n`);
if (totalsFile !== undefined) writeFileSync(totalsFile, JSON.stringify(digest.totals));
process.exitCode = status === 0 && digest.totals.failed > 0 ? 1 : (status ?? 1);
