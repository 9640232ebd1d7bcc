import { join, relative } from 'node:path';
import { AssertionFailure } from '../src/base/assert.ts';
import { projectRoot } from '../src/base/root.ts';
import { shardsCase } from './cases/shards.ts';
import type { BenchCase } from './harness/bench-case.ts';
import { machineFacts, oneMinuteLoad } from './harness/machine.ts';
import { type BenchOptions, helpText, readCommandLine, UsageFailure } from './harness/options.ts';
import { Progress } from './harness/progress.ts';
import { writeReport } from './report/write-report.ts';

/** The bench: `npm run bench -- <case> [flags]`. */

const cases: readonly BenchCase[] = [shardsCase];

const exitCodes = { done: 0, failed: 1, usage: 2, interrupted: 130 } as const;

async function bench(words: readonly string[], signal: AbortSignal): Promise<number> {
  const { name, options } = readCommandLine(words);
  if (name === null) {
    process.stdout.write(`${helpText(cases)}\n`);
    return exitCodes.done;
  }
  const chosen = cases.find((one) => one.name === name);
  if (chosen === undefined) {
    throw new UsageFailure(`There is no case "${name}". Cases: ${cases.map((one) => one.name).join(', ')}.`);
  }
  const machine = machineFacts();
  const startedAt = new Date().toISOString();
  const progress = new Progress();
  const findings = await chosen.run({ options, progress, signal });
  const report = {
    format: 1 as const,
    case: chosen.name,
    startedAt,
    command: `npm run bench -- ${words.join(' ')}`,
    options,
    machine: { ...machine, loadAfter: oneMinuteLoad() },
    ...findings,
  };
  const folder = resultsFolder(
    options,
    `${startedAt.slice(0, 10)}-${chosen.name}-${machine.commit ?? machine.quarry}`,
  );
  const files = await writeReport(report, folder);
  progress.note('done');
  process.stdout.write(`${files.map((file) => relative(process.cwd(), file)).join('\n')}\n`);
  return exitCodes.done;
}

function resultsFolder({ out, keep }: BenchOptions, keptName: string): string {
  if (out !== null) return out;
  return join(projectRoot, 'bench', 'results', keep ? keptName : 'latest');
}

const interrupt = new AbortController();
process.once('SIGINT', () => {
  interrupt.abort();
  process.once('SIGINT', () => process.exit(exitCodes.interrupted));
});

try {
  process.exitCode = await bench(process.argv.slice(2), interrupt.signal);
} catch (error) {
  if (interrupt.signal.aborted) {
    process.stderr.write('bench: interrupted; nothing was written\n');
    process.exitCode = exitCodes.interrupted;
  } else {
    // A sentence for what a person can mend; a bug of the bench keeps its stack.
    if (!(error instanceof Error) || error instanceof AssertionFailure) throw error;
    process.stderr.write(`bench: ${error.message}\n`);
    process.exitCode = error instanceof UsageFailure ? exitCodes.usage : exitCodes.failed;
  }
}
