import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BenchCase, BenchContext } from '../harness/bench-case.ts';
import { spreadColumns, spreadOf } from '../harness/statistics.ts';
import { runTask } from '../harness/task-process.ts';
import type { BenchFindings, Figure } from '../report/findings.ts';
import { formatNumber } from '../report/format-number.ts';
import type { AccountsInput, AccountsOutput } from './accounts-task.ts';

const keysPerOrganization = 10;

interface AccountsMeasurement {
  readonly keys: number;
  readonly empty: readonly AccountsOutput[];
  readonly full: readonly AccountsOutput[];
  readonly checks: readonly AccountsOutput[];
}

/** Measures the cost of many organizations and keys, and of authenticating and counting a call. */
export const accountsCase: BenchCase = {
  name: 'accounts',
  summary: 'start and memory with many organizations and keys; CPU of a key check and of counting a query',
  presets: {
    smoke: '--documents 40 --seconds 0.02 --rounds 1',
    usual: '--documents 100000 --seconds 1 --rounds 5',
    full: '--documents 1000000 --seconds 5 --rounds 9',
  },
  async run(context) {
    const folder = await mkdtemp(join(tmpdir(), 'quarry-bench-accounts-'));
    try {
      return findingsOf(await measure(folder, context), context);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

async function measure(root: string, context: BenchContext): Promise<AccountsMeasurement> {
  const { options, progress } = context;
  const keys = Math.max(...options.documents);
  const run = (step: AccountsInput['step'], folder: string, secrets: readonly string[] = []) => {
    const { seconds } = options;
    const input: AccountsInput = {
      step,
      keys,
      keysPerOrganization,
      seconds,
      secrets,
      folder: join(root, folder),
    };
    return runTask<AccountsOutput>(new URL('./accounts-task.js', import.meta.url), input, context);
  };
  progress.note(`accounts: issuing ${formatNumber(keys, 0)} keys`);
  const { secrets } = await run('fill', 'full');
  const [empty, full, checks]: [AccountsOutput[], AccountsOutput[], AccountsOutput[]] = [[], [], []];
  for (let round = 0; round < options.rounds; round++) {
    progress.update('measuring', round, options.rounds, 'accounts');
    empty.push(await run('start', `empty-${round}`));
    full.push(await run('start', 'full'));
    checks.push(await run('check', 'full', secrets));
  }
  return { keys, empty, full, checks };
}

function findingsOf(
  { keys, empty, full, checks }: AccountsMeasurement,
  { options }: BenchContext,
): BenchFindings {
  const megabytes = ({ residentBytes }: AccountsOutput) => residentBytes / 1e6;
  const costs = [
    { name: 'check of a recently used key', values: checks.map(({ cachedUs }) => cachedUs) },
    { name: 'check of a key that is not cached', values: checks.map(({ lookedUpUs }) => lookedUpUs) },
    { name: 'counting a query', values: checks.map(({ countedUs }) => countedUs) },
  ];
  const starts = [
    { name: 'empty', outputs: empty },
    { name: 'with all organizations and keys', outputs: full },
  ];
  const organizations = formatNumber(Math.ceil(keys / keysPerOrganization), 0);
  return {
    title: `${organizations} organizations with ${formatNumber(keys, 0)} API keys`,
    method: [
      `${organizations} organizations and ${formatNumber(keys, 0)} keys in one data directory. Each round opens it in a new process and measures the time until keys can be checked, and the memory of the process at that time, including Node.js. CPU is that of the whole process per call, including the measuring loop. ${options.rounds} rounds.`,
    ],
    tables: [
      {
        title: 'Start',
        columns: [
          { key: 'name', heading: 'data directory', unit: null, digits: 0 },
          { key: 'ms', heading: 'until keys are checked', unit: 'ms', digits: 0 },
          { key: 'megabytes', heading: 'memory', unit: 'MB', digits: 0 },
        ],
        rows: starts.map(({ name, outputs }) => ({
          name,
          ms: spreadOf(outputs.map(({ startMs }) => startMs))?.median ?? null,
          megabytes: spreadOf(outputs.map(megabytes))?.median ?? null,
        })),
      },
      {
        title: 'CPU per call',
        columns: [{ key: 'name', heading: 'call', unit: null, digits: 0 }, ...spreadColumns('us', 2)],
        rows: costs.map(({ name, values }) => ({ name, ...spreadOf(values) })),
      },
    ],
    charts: [],
    notes: [
      'Targets with 10,000 organizations and 100,000 keys: a start within 3 s, at most 200 MB more than with an empty directory, 2 us for a cached check, 3 us for counting a query.',
      'The number of organizations and keys does not affect the start of the other components (models, shards, HTTP server).',
    ],
    figures: [
      ...costs.map(({ name, values }): Figure => ({ name, unit: 'us', better: 'less', values })),
      { name: 'start', unit: 'ms', better: 'less', values: full.map(({ startMs }) => startMs) },
      { name: 'memory', unit: 'MB', better: 'less', values: full.map(megabytes) },
    ],
    measured: { empty, full, checks },
  };
}
