// Builds the parts that Quarry needs to run: packages, native engine, compiled TypeScript, dashboard. Each step compares a
// fingerprint of its sources with that of its last run, so a start without changes takes milliseconds.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, relative, sep } from 'node:path';
import { withBuildLock } from './build-lock.js';
import { LaunchError } from './launch-error.js';
import { runStep } from './run-step.js';
import { findHeaders, findNpm, missingTools } from './toolchain.js';

const sourceFolders = ['src', 'workers', 'bench', 'test', 'models'];

/** Installs and builds what is missing or stale below `root`; rejects with a LaunchError that says what to do. */
export async function ensureBuilt(root) {
  const steps = [packagesStep(root), nativeStep(root), typescriptStep(root), dashboardStep(root)];
  if (steps.every((step) => step.isCurrent())) return;
  await withBuildLock(root, async () => {
    for (const step of steps) {
      // Asked again: another launcher may have done the work while this one waited for the lock.
      if (!step.isCurrent()) await step.run();
    }
  });
}

function packagesStep(root) {
  return {
    isCurrent: () => packagesAreInstalled(root),
    async run() {
      const npm = requireNpm();
      await runStep({
        root,
        title: 'installing packages (npm ci)',
        command: process.execPath,
        arguments: [npm.cli, 'ci', '--no-audit', '--no-fund'],
        advice: 'Is the package registry reachable?',
      });
      if (!packagesAreInstalled(root)) {
        throw new LaunchError('npm ci succeeded, but node_modules does not match package-lock.json.');
      }
    },
  };
}

function nativeStep(root) {
  const stamp = join(root, 'build', 'quarry.stamp');
  const addon = join(root, 'build', 'Release', 'quarry.node');
  const fingerprint = () =>
    computeFingerprint(
      root,
      ['binding.gyp', ...listFiles(root, 'native', () => true)],
      [process.platform, process.arch],
    );
  return {
    isCurrent: () => existsSync(addon) && readFileIfExists(stamp) === fingerprint(),
    async run() {
      const missing = missingTools();
      if (missing.length > 0) throw new LaunchError(missingToolsMessage(missing));
      // Taken before the build: a source edited meanwhile makes the next start build again.
      const built = fingerprint();
      const headers = findHeaders();
      for (const task of ['configure', 'build']) {
        await runStep({
          root,
          title: task === 'configure' ? 'preparing the native engine' : 'compiling the native engine',
          command: process.execPath,
          arguments: [
            requireNpm().nodeGyp,
            task,
            '--release',
            `--jobs=${availableParallelism()}`,
            ...(headers === null ? [] : [`--nodedir=${headers}`]),
          ],
          advice: 'Quarry needs a C++20 compiler (g++ 11, clang 14, or newer).',
        });
      }
      if (!existsSync(addon))
        throw new LaunchError(`the native build did not create ${relative(root, addon)}.`);
      writeFileSync(stamp, built);
    },
  };
}

function typescriptStep(root) {
  const stamp = join(root, 'dist', 'quarry.stamp');
  const sources = () =>
    sourceFolders.flatMap((folder) => listFiles(root, folder, (name) => name.endsWith('.ts')));
  const fingerprint = () =>
    computeFingerprint(root, ['tsconfig.json', 'package-lock.json', ...sources()], []);
  return {
    isCurrent: () => readFileIfExists(stamp) === fingerprint(),
    async run() {
      const built = fingerprint();
      // The incremental compiler trusts its own record and would not recreate deleted files.
      if (readFileIfExists(stamp) === null) rmSync(join(root, 'dist', 'tsbuildinfo'), { force: true });
      await runStep({
        root,
        title: 'compiling TypeScript',
        command: process.execPath,
        arguments: [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', 'tsconfig.json'],
        advice: 'The sources do not compile.',
      });
      await bundleTypeBox(root);
      removeStaleOutputs(root);
      mkdirSync(dirname(stamp), { recursive: true });
      writeFileSync(stamp, built);
    },
  };
}

/** Every process of Quarry loads TypeBox; a single file loads in a tenth of the time of its 340 modules. */
async function bundleTypeBox(root) {
  const [source, compiled] = [
    join('src', 'schemas', 'typebox.ts'),
    join('dist', 'src', 'schemas', 'typebox.js'),
  ];
  await runStep({
    root,
    title: 'bundling TypeBox',
    command: process.execPath,
    arguments: [
      join(root, 'node_modules', 'rolldown', 'bin', 'cli.mjs'),
      ...[source, '--file', compiled, '--platform', 'node', '--logLevel', 'warn'],
    ],
    advice: 'The modules cannot be bundled.',
  });
}

/** The dashboard, from web/ and the files of the server that it shares. */
function dashboardStep(root) {
  const stamp = join(root, 'dist', 'dashboard.stamp');
  const page = join(root, 'dist', 'web', 'index.html');
  const allFiles = () => true;
  const fingerprint = () =>
    computeFingerprint(
      root,
      [
        'package-lock.json',
        join('src', 'search', 'filter.ts'),
        ...listFiles(root, join('src', 'core'), allFiles),
        ...listFiles(root, 'web', (name) => !name.endsWith('.png')),
      ],
      [],
    );
  return {
    isCurrent: () => existsSync(page) && readFileIfExists(stamp) === fingerprint(),
    async run() {
      const built = fingerprint();
      const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js');
      const config = join('web', 'vite.config.js');
      await runStep({
        root,
        title: 'building the dashboard',
        command: process.execPath,
        arguments: [vite, 'build', '--config', config, '--configLoader', 'native', '--logLevel', 'warn'],
        advice: 'The sources of the dashboard cannot be bundled.',
      });
      writeFileSync(stamp, built);
    },
  };
}

/** Removes compiled files without a source, which would still run as tests or workers. */
function removeStaleOutputs(root) {
  for (const folder of sourceFolders) {
    for (const compiled of listFiles(join(root, 'dist'), folder, (name) => /\.js(\.map)?$/.test(name))) {
      const source = join(root, compiled.replace(/\.js(\.map)?$/, '.ts'));
      if (!existsSync(source)) rmSync(join(root, 'dist', compiled));
    }
  }
}

/**
 * npm writes node_modules/.package-lock.json when an installation is complete; it must hold every package of the lock
 * file, apart from optional ones that do not fit this platform.
 */
function packagesAreInstalled(root) {
  const installedText = readFileIfExists(join(root, 'node_modules', '.package-lock.json'));
  if (installedText === null) return false;
  const lockedPackages = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const installed = JSON.parse(installedText).packages;
  return Object.entries(lockedPackages).every(([path, entry]) => {
    if (path === '') return true;
    const installedEntry = installed[path];
    if (installedEntry === undefined) return entry.optional === true;
    return installedEntry.version === entry.version && installedEntry.integrity === entry.integrity;
  });
}

/** Returns sorted paths relative to `root`; empty when the folder does not exist. */
function listFiles(root, folder, matches) {
  const start = join(root, folder);
  if (!existsSync(start)) return [];
  return readdirSync(start, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && matches(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => !path.split(sep).includes('node_modules'))
    .sort();
}

/** Returns a hash of `context` and of the names and contents of `paths`. */
function computeFingerprint(root, paths, context) {
  const hash = createHash('sha256').update(JSON.stringify(context));
  for (const path of paths) {
    const content = readFileSync(join(root, path));
    hash.update(`\n${path} ${content.length}\n`).update(content);
  }
  return hash.digest('hex');
}

function readFileIfExists(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
}

function requireNpm() {
  const npm = findNpm();
  if (npm === null) {
    throw new LaunchError(
      'Quarry needs npm, which was not found on the PATH or beside Node.js. Install npm, then start again.',
    );
  }
  return npm;
}

function missingToolsMessage(missing) {
  return (
    `Quarry compiles its search engine and needs ${missing.join(' and ')}. ` +
    'Install the missing tools (Debian, Ubuntu: apt-get install g++ make python3; Fedora: dnf install gcc-c++ make python3; ' +
    'macOS: xcode-select --install), then start again.'
  );
}
