import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { projectRoot } from '../../src/core/root.ts';
import t from '../support/tap.ts';

const defaultSuffix = '.test.js';

/**
 * `node dist/test/run/files.js [--jobs=N] [--timeout=SECONDS] [--suffix=.test.js] [FILE...]` runs test files, by default all
 * with the suffix, and prints TAP. Most files of a folder share a process (`shared-process.ts`); slow files and those given
 * by name do not.
 *
 * `tap run` is not used: it loads a TypeScript compiler, a mocking loader and a coverage recorder into each test file and
 * into each process that a test starts, which doubles the CPU time of a small file. No test uses them.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    // With three, a seventh of two cores waits.
    jobs: { type: 'string', default: '4' },
    // For one file: far beyond the needs of a slow and busy machine, so that only a test that hangs reaches it.
    timeout: { type: 'string', default: '1200' },
    suffix: { type: 'string', default: defaultSuffix },
  },
});

/** Files that take minutes start first, so that none of them runs alone at the end. The longest comes first. */
const longFiles = ['e2e/dashboard', 'native/sanitize-thread', 'native/sanitize-address'].map(
  (name) => `${name}.slow.js`,
);

function findFiles(suffix: string): string[] {
  const folder = join('dist', 'test');
  const names = readdirSync(join(projectRoot, folder), { recursive: true, encoding: 'utf8' });
  const others = names.filter((name) => name.endsWith(suffix) && !longFiles.includes(name)).sort();
  return [...longFiles.filter((name) => name.endsWith(suffix)), ...others].map((name) => join(folder, name));
}

/** Folders whose tests start servers or other processes, or measure or limit their own. */
const ownProcessFolders = new Set(
  [
    ...['', 'backup', 'crash', 'e2e', 'http', 'native', 'package', 'packages', 'run', 'simulate'],
    ...['parsing', 'parsing/process', 'parsing/processes', 'parsing/tools'],
  ].map((folder) => join('dist', 'test', folder)),
);
/** Files of other folders that do the same. */
const ownProcessFiles = new Set(
  ['echo-server', 'load-run', 'smoke', 'text-corpus', 'vectors', 'wrk'].map((name) =>
    join('dist', 'test', 'bench', `${name}${defaultSuffix}`),
  ),
);
/**
 * Tests that are not slow connect to this machine only. Node.js would read the certificates of this variable in every
 * process, also in those that a test starts: .1 instead of .03 s of CPU for the usual bundle of a Linux system.
 */
const offlineSettings = ['-u', 'NODE_EXTRA_CA_CERTS'];
/** Few enough that no process runs much longer than the others. */
const filesPerProcessMax = 12;
const filesPerServerMax = 12;
/** Files with servers of their own, most of which take longer. */
const ownServerFilesMax = 4;
/** Files that take long enough for a process of their own. */
const longFilePattern = /^(backup|billing|dashboard|marketplaces)/;
/** Servers that files share, by the function with which a file joins one. */
const sharedServers = new Map([
  ['joinAccountServer', 'account server'],
  ['joinChatServer', 'chat server'],
  ['joinLibrary', 'shared server'],
  ['joinSharedServer', 'shared server'],
  ['joinSmallServer', 'small server'],
  ['joinSourceServer', 'source server'],
]);
/** Files with an emulated Stripe account: reading the declarations of Stripe's SDK takes 2 s of CPU in each process. */
const billingFiles = join('dist', 'test', 'e2e', 'billing');

/** Files that may run one after the other in one process. */
interface FileGroup {
  readonly name: string;
  readonly filesMax: number;
}

/** Returns null for a file that needs a process of its own. */
function groupOf(file: string): FileGroup | null {
  const folder = dirname(file);
  if (ownProcessFiles.has(file)) return null;
  if (!ownProcessFolders.has(folder)) return { name: folder, filesMax: filesPerProcessMax };
  if (file.startsWith(billingFiles)) return { name: billingFiles, filesMax: filesPerServerMax };
  const text = readFileSync(join(projectRoot, file), 'utf8');
  const joined = [...sharedServers].find(([join]) => text.includes(`${join}(`));
  if (joined !== undefined) return { name: joined[1], filesMax: filesPerServerMax };
  if (basename(folder) !== 'e2e' || longFilePattern.test(basename(file))) return null;
  return { name: 'own servers', filesMax: ownServerFilesMax };
}

/** The files of each process: one, or several of a group. */
function assignProcesses(files: readonly string[]): (readonly string[])[] {
  const processes: string[][] = [];
  /** Process of each group that may get more files. */
  const latest = new Map<string, string[]>();
  for (const file of files) {
    const group = groupOf(file);
    const open = group === null ? undefined : latest.get(group.name);
    if (group !== null && open !== undefined && open.length < group.filesMax) {
      open.push(file);
      continue;
    }
    const started = [file];
    processes.push(started);
    if (group !== null) latest.set(group.name, started);
  }
  return processes;
}

const files =
  positionals.length > 0 ? positionals.map((file) => relative(projectRoot, file)) : findFiles(values.suffix);
const mayShare = positionals.length === 0 && values.suffix === defaultSuffix;
const processes = mayShare ? assignProcesses(files) : files.map((file) => [file]);
const timeoutSeconds = Number(values.timeout);
const sharedProcess = join('dist', 'test', 'run', 'shared-process.js');
t.setTimeout(0);
t.jobs = Number(values.jobs);
for (const processFiles of processes) {
  const [first = '', ...others] = processFiles;
  // `env` replaces itself with Node.js; tap adds its coverage recorder to NODE_OPTIONS of the processes that it starts.
  const seconds = timeoutSeconds * processFiles.length;
  const settings = [
    ...['-u', 'NODE_OPTIONS', ...(first.endsWith(defaultSuffix) ? offlineSettings : [])],
    ...[`TAP_TIMEOUT=${seconds}`, 'TAP_TYPE_STRIP_ONLY=1'],
  ];
  const node = [process.execPath, '--enable-source-maps'];
  const timeout = seconds * 1_000;
  const options = { cwd: projectRoot, buffered: true, timeout, at: null, stack: '' };
  if (others.length === 0) void t.spawn('env', [...settings, ...node, first], options, first);
  else {
    // Not as words of the command, which tap makes part of the names of temporary folders.
    const list = `QUARRY_TEST_FILES=${processFiles.join(' ')}`;
    const title = `${dirname(first)}, ${processFiles.length} files`;
    void t.spawn('env', [...settings, list, ...node, sharedProcess], options, title);
  }
}
