import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Report } from '../../bench/report/findings.ts';

const bench = fileURLToPath(new URL('../../bench/main.js', import.meta.url));

/** Runs the bench and returns its exit status and output. */
export function runBench(words: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  return new Promise((resolve) => {
    // Without NODE_OPTIONS: the test runner would inject its loaders into every process of the benchmark.
    execFile('env', ['-u', 'NODE_OPTIONS', process.execPath, bench, ...words], (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, err });
    });
  });
}

export async function readReport(folder: string, name: string): Promise<Report> {
  return JSON.parse(await readFile(join(folder, `${name}.json`), 'utf8')) as Report;
}

/** Starts the bench without waiting for its end. */
export function spawnBench(words: readonly string[]) {
  const { NODE_OPTIONS: _, ...environment } = process.env;
  const child = spawn(process.execPath, [bench, ...words], { env: environment, stdio: 'pipe' });
  let output = '';
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  return {
    exited,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    /** Resolves when the progress matches; rejects with the output if the process exits before. */
    printed: (pattern: RegExp) =>
      new Promise<void>((resolve, reject) => {
        void exited.then(() => reject(new Error(output)));
        child.stderr.setEncoding('utf8').on('data', (part: string) => {
          output += part;
          if (pattern.test(output)) resolve();
        });
      }),
  };
}
