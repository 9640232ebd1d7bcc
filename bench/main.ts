import { readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { AssertionError } from '../src/core/assert.ts';
import { projectRoot } from '../src/core/root.ts';
import { accountsCase } from './cases/accounts.ts';
import { boundaryCase } from './cases/boundary.ts';
import { canaryCase } from './cases/canary.ts';
import { diskCase } from './cases/disk.ts';
import { engineCase } from './cases/engine.ts';
import { ingestCase } from './cases/ingest.ts';
import { lexicalCase } from './cases/lexical.ts';
import { parsingCase } from './cases/parsing.ts';
import { passagesCase } from './cases/passages.ts';
import { pipelineCase } from './cases/pipeline.ts';
import { relevanceCase } from './cases/relevance.ts';
import { serverCase } from './cases/server.ts';
import { shardsCase } from './cases/shards.ts';
import { startupCase } from './cases/startup.ts';
import { engineKinds } from './engines/catalog.ts';
import type { BenchCase } from './harness/bench-case.ts';
import { BenchUsageError } from './harness/flag-specs.ts';
import { machineFacts, oneMinuteLoad } from './harness/machine.ts';
import {
  type BenchOptions,
  type CommandLine,
  helpText,
  readCommandLine,
  redactArguments,
  redactOptions,
} from './harness/options.ts';
import { BenchProgress } from './harness/progress.ts';
import { installPeers } from './peers/install.ts';
import { comparisonTable } from './report/blocks.ts';
import { compareReports, findRegressions } from './report/compare.ts';
import type { Report } from './report/findings.ts';
import type { Section } from './report/html.ts';
import { renderTable } from './report/markdown.ts';
import { renderReport, writeAll, writeReport } from './report/write-report.ts';

/** The bench: `npm run bench -- <case> [flags]`. */

const cases: readonly BenchCase[] = [
  engineCase,
  shardsCase,
  serverCase,
  ingestCase,
  diskCase,
  parsingCase,
  pipelineCase,
  boundaryCase,
  accountsCase,
  lexicalCase,
  startupCase,
  relevanceCase,
  passagesCase,
  canaryCase,
];

const exitCodes = { done: 0, failed: 1, usage: 2, regressed: 4, interrupted: 130 } as const;

async function bench(args: readonly string[], interrupt: AbortController): Promise<number> {
  const line = readCommandLine(args);
  const [name, ...more] = line.positionals;
  if (line.help || name === undefined) {
    print(helpText(cases));
    return exitCodes.done;
  }
  if (name === 'peers') return peers(more);
  if (name === 'compare') return compare(more);
  if (name === 'render') return render(more);
  if (more.length > 0)
    throw new BenchUsageError(`Run one case at a time: unexpected argument "${more.join(' ')}".`);
  const chosen = name === 'all' ? cases : cases.filter((one) => one.name === name);
  if (chosen.length === 0) {
    throw new BenchUsageError(
      `Unknown case "${name}". Cases: ${cases.map((one) => one.name).join(', ')}, all.`,
    );
  }
  const sections: Section[] = [];
  for (const one of chosen) {
    const section = await runCase(one, { line, args, interrupt });
    if (section.report.complete === false) return exitCodes.interrupted;
    sections.push(section);
  }
  if (name === 'all') {
    const folder = resultsFolder(line.optionsFor(''), 'all', sections[0]!.report);
    printPaths(await writeAll(sections, folder));
  }
  const regressedFigures = sections.flatMap(({ comparison }) =>
    comparison === null ? [] : findRegressions(comparison),
  );
  return regressedFigures.length === 0 ? exitCodes.done : exitCodes.regressed;
}

interface CaseRun {
  readonly line: CommandLine;
  readonly args: readonly string[];
  readonly interrupt: AbortController;
}

async function runCase(chosen: BenchCase, { line, args, interrupt }: CaseRun): Promise<Section> {
  const options = line.optionsFor(chosen.presets[line.size]);
  // Read before the run, so that a missing file is reported before minutes of measurement.
  const earlier = options.compare === null ? null : await readReport(options.compare);
  const machine = machineFacts();
  const startedAt = new Date().toISOString();
  const progress = new BenchProgress();
  const limit =
    options.secondsMax === null ? null : setTimeout(() => interrupt.abort(), 1_000 * options.secondsMax);
  const findings = await chosen.run({ options, progress, signal: interrupt.signal });
  if (limit !== null) clearTimeout(limit);
  progress.note(`${chosen.name}: ${findings.complete === false ? 'interrupted' : 'done'}`);
  const report: Report = {
    format: 2,
    case: chosen.name,
    startedAt,
    command: `npm run bench -- ${redactArguments(args).join(' ')}`,
    options: redactOptions(options),
    machine: { ...machine, loadAfter: oneMinuteLoad() },
    complete: true,
    ...findings,
  };
  const comparison = earlier === null ? null : compareReports(earlier, report);
  const section = { report, comparison };
  printPaths(await writeReport(section, resultsFolder(options, chosen.name, report)));
  if (comparison !== null)
    print([...comparison.warnings, ...renderTable(comparisonTable(comparison))].join('\n'));
  return section;
}

function peers([command, ...more]: readonly string[]): number {
  if (more.length > 0 || (command !== undefined && command !== 'install')) {
    throw new BenchUsageError(
      'Unknown subcommand. Use "peers" to list the installed engines or "peers install" to install them.',
    );
  }
  if (command === 'install') return installPeers(print) === 0 ? exitCodes.done : exitCodes.failed;
  for (const kind of engineKinds) print(`${kind.name.padEnd(18)} ${versionOf(kind)}`);
  return exitCodes.done;
}

function versionOf(kind: (typeof engineKinds)[number]): string {
  try {
    return kind.version();
  } catch (error) {
    return `not available: ${(error as Error).message}`;
  }
}

async function compare(files: readonly string[]): Promise<number> {
  const [before, after, ...more] = files;
  if (before === undefined || after === undefined || more.length > 0) {
    throw new BenchUsageError('compare requires two files: an old report and a new one.');
  }
  const comparison = compareReports(await readReport(before), await readReport(after));
  print([...comparison.warnings, ...renderTable(comparisonTable(comparison))].join('\n'));
  return findRegressions(comparison).length === 0 ? exitCodes.done : exitCodes.regressed;
}

/** Renders JSON reports in the current layout. */
async function render(files: readonly string[]): Promise<number> {
  if (files.length === 0) throw new BenchUsageError('render requires one or more JSON reports.');
  for (const file of files) {
    const report = await readReport(file);
    if (report.options.compare !== null)
      throw new BenchUsageError(
        `${file} was compared with an earlier run that is not part of the file, so it cannot be rendered.`,
      );
    printPaths(await renderReport({ report, comparison: null }, dirname(file)));
  }
  return exitCodes.done;
}

async function readReport(path: string): Promise<Report> {
  const report = JSON.parse(await readFile(path, 'utf8')) as Partial<Report>;
  if (report.format !== 2 || !Array.isArray(report.figures)) {
    throw new BenchUsageError(`${path} is not a report of this bench (format 2).`);
  }
  return report as Report;
}

function resultsFolder({ out, keep }: BenchOptions, name: string, { startedAt, machine }: Report): string {
  if (out !== null) return out;
  const folderName = `${startedAt.slice(0, 10)}-${name}-${machine.commit ?? machine.quarry}`;
  return join(projectRoot, 'bench', 'results', keep ? folderName : 'latest');
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function printPaths(files: readonly string[]): void {
  for (const file of files) print(relative(process.cwd(), file));
}

const interrupt = new AbortController();
const signals = ['SIGINT', 'SIGTERM'] as const;
const onSignal = () => {
  // The second signal ends the process at once.
  if (interrupt.signal.aborted) process.exit(exitCodes.interrupted);
  interrupt.abort();
};
for (const name of signals) process.on(name, onSignal);

try {
  process.exitCode = await bench(process.argv.slice(2), interrupt);
} catch (error) {
  if (interrupt.signal.aborted) {
    process.stderr.write('bench: interrupted before there were results; nothing was written\n');
    process.exitCode = exitCodes.interrupted;
  } else {
    // User errors are printed as a sentence; a bug of the bench is rethrown with its stack.
    if (!(error instanceof Error) || error instanceof AssertionError) throw error;
    process.stderr.write(`bench: ${error.message}\n`);
    process.exitCode = error instanceof BenchUsageError ? exitCodes.usage : exitCodes.failed;
  }
}
