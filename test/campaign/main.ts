import type { ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { machineFacts } from '../../bench/harness/machine.ts';
import { projectRoot } from '../../src/core/root.ts';
import { clockPart } from './clock.ts';
import { diskPart } from './disk.ts';
import { hostilePart } from './hostile.ts';
import { killPart } from './kill.ts';
import { largeBodiesPart } from './large-bodies.ts';
import { type CampaignOptions, CampaignUsageError, helpText, readOptions } from './options.ts';
import { overloadPart } from './overload.ts';
import type { Part } from './part.ts';
import { PartRun } from './part-run.ts';
import { type PartResult, summary, violationsOf, writeReport } from './report.ts';
import { soakPart } from './soak.ts';
import { tenantsPart } from './tenants.ts';

/** `npm run campaign`: runs real servers for minutes or hours and checks the guarantees of the product. */

const parts: readonly Part[] = [
  ...[killPart, hostilePart, tenantsPart, diskPart],
  ...[clockPart, overloadPart, largeBodiesPart, soakPart],
];
const exitCodes = { passed: 0, violated: 1, usage: 2, interrupted: 130 } as const;
/** Milliseconds for a part to react to Ctrl-C. */
const graceMs = 10_000;
const defaultReport = join(projectRoot, 'bench', 'results', 'latest', 'campaign.json');

async function campaign(options: CampaignOptions, commandLineArguments: readonly string[]): Promise<number> {
  const startedAt = new Date().toISOString();
  const machine = machineFacts();
  const folder = mkdtempSync(join(tmpdir(), 'quarry-campaign-'));
  const children = new Set<ChildProcess>();
  const interrupt = new AbortController();
  const onInterrupt = () => {
    // A second Ctrl-C exits immediately.
    if (interrupt.signal.aborted) process.exit(exitCodes.interrupted);
    interrupt.abort();
    setTimeout(() => process.exit(exitCodes.interrupted), graceMs).unref();
  };
  process.on('SIGINT', onInterrupt).on('SIGTERM', onInterrupt);
  // The servers and their child processes also create their temporary files here.
  process.env.TMPDIR = folder;
  process.on('exit', () => {
    for (const child of children) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  const results: PartResult[] = [];
  for (const part of options.parts) {
    if (interrupt.signal.aborted) break;
    const { seed, size, plantsFault } = options;
    const run = new PartRun(part, { seed, size, folder, plantsFault, signal: interrupt.signal, children });
    results.push(await run.run());
  }
  const violations = violationsOf(results);
  const interrupted = interrupt.signal.aborted;
  writeReport(options.report, {
    format: 1,
    startedAt,
    finishedAt: new Date().toISOString(),
    commandLine: commandLineArguments,
    seed: options.seed,
    machine,
    interrupted,
    violations,
    parts: results,
  });
  process.stdout.write(`\n${summary(results)}`);
  for (const { violations: found, name } of results)
    for (const { guarantee, message } of found) process.stdout.write(`${name}/${guarantee}: ${message}\n`);
  process.stdout.write(`Report: ${relative('.', options.report)} (seed ${options.seed})\n`);
  if (violations > 0) return exitCodes.violated;
  return interrupted ? exitCodes.interrupted : exitCodes.passed;
}

function listParts(): string {
  const lines = parts.flatMap((part) => [
    `${part.name}: ${part.description}`,
    ...part.guarantees.map((guarantee) => `  ${guarantee.name}: ${guarantee.text}`),
  ]);
  return `${lines.join('\n')}\n`;
}

const commandLineArguments = process.argv.slice(2);
try {
  const options = readOptions(commandLineArguments, parts, {
    seed: randomInt(2 ** 31),
    report: defaultReport,
  });
  if (options.show === 'help') process.stdout.write(helpText);
  else if (options.show === 'list') process.stdout.write(listParts());
  else process.exit(await campaign(options, commandLineArguments));
} catch (error) {
  const isUsage = error instanceof CampaignUsageError;
  process.stderr.write(isUsage ? `${error.message}\n\n${helpText}` : `${(error as Error).stack}\n`);
  process.exit(isUsage ? exitCodes.usage : exitCodes.violated);
}
