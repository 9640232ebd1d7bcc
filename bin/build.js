// Builds what Quarry needs to run: packages, native engine, compiled TypeScript, dashboard. Each step compares a
// fingerprint of its sources with the one of its last run, so that a start without changes takes milliseconds.
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
  await runStaleSteps(root, [
    packagesStep(root),
    nativeStep(root),
    typescriptStep(root),
    dashboardStep(root),
  ]);
}

/** Compiles TypeScript only; the native engine is built when it is missing, not when it is stale. */
export async function ensureCompiled(root) {
  const native = nativeStep(root);
  const nativeOnce = { isCurrent: () => existsSync(addonPath(root)), run: native.run };
  await runStaleSteps(root, [packagesStep(root), nativeOnce, typescriptStep(root)]);
}

async function runStaleSteps(root, steps) {
  if (steps.every((step) => step.isCurrent())) return;
  await withBuildLock(root, async () => {
    for (const step of steps) {
      // Check again: another launcher may have done the work while this one waited for the lock.
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
        // Versions of npm that ignore allowScripts in package.json run its script, which would download CUDA libraries.
        variables: { ONNXRUNTIME_NODE_INSTALL: 'skip' },
        advice: 'Is the package registry reachable?',
      });
      if (!packagesAreInstalled(root)) {
        throw new LaunchError('npm ci succeeded, but node_modules lacks packages of package-lock.json.');
      }
    },
  };
}

function nativeStep(root) {
  const stamp = join(root, 'build', 'quarry.stamp');
  const addon = addonPath(root);
  const fingerprint = () =>
    computeFingerprint(
      root,
      [
        'binding.gyp',
        ...listFiles(root, 'native', () => true),
        ...listFiles(root, 'test/native', (name) => /\.(cc|h)$/.test(name)),
      ],
      [process.platform, process.arch],
    );
  return {
    isCurrent: () => existsSync(addon) && readFileIfExists(stamp) === fingerprint(),
    async run() {
      const missing = missingTools();
      if (missing.length > 0) throw new LaunchError(missingToolsMessage(missing));
      // Computed before the build: a source that is edited during the build is compiled by the next start.
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
          advice: 'Quarry needs a compiler that supports C++20 (g++ 11 or clang 14, or newer).',
        });
      }
      if (!existsSync(addon))
        throw new LaunchError(`The native build did not create ${relative(root, addon)}.`);
      writeFileSync(stamp, built);
    },
  };
}

/** Types are removed file by file and not checked: that takes a second, and `npm run check` reports type errors. */
function typescriptStep(root) {
  const stamp = join(root, 'dist', 'quarry.stamp');
  const compiler = join('bin', 'compile-typescript.js');
  const sources = () =>
    sourceFolders.flatMap((folder) => listFiles(root, folder, (name) => name.endsWith('.ts')));
  const fingerprint = () => computeFingerprint(root, ['package-lock.json', compiler, ...sources()], []);
  return {
    isCurrent: () => readFileIfExists(stamp) === fingerprint(),
    async run() {
      const built = fingerprint();
      // A failed compilation leaves new outputs of other files, which would not fit the old stamp.
      rmSync(stamp, { force: true });
      await runStep({
        root,
        title: 'compiling TypeScript',
        command: process.execPath,
        arguments: [compiler, ...sourceFolders],
        advice: 'Fix the syntax errors above.',
      });
      mkdirSync(dirname(stamp), { recursive: true });
      writeFileSync(stamp, built);
    },
  };
}

/** Bundles the dashboard from web/ and from the modules of the server that run in the browser too. */
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
        advice: 'The dashboard cannot be bundled.',
      });
      writeFileSync(stamp, built);
    },
  };
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

/** Paths relative to `root`, with the separator of this system, sorted; empty when the folder does not exist. */
function listFiles(root, folder, matches) {
  const start = join(root, folder);
  if (!existsSync(start)) return [];
  return readdirSync(start, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && matches(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => !path.split(sep).includes('node_modules'))
    .sort();
}

/** Hash over the names and contents of `paths` and over `context`. */
function computeFingerprint(root, paths, context) {
  const hash = createHash('sha256').update(JSON.stringify(context));
  for (const path of paths) {
    const content = readFileSync(join(root, path));
    hash.update(`\n${path} ${content.length}\n`).update(content);
  }
  return hash.digest('hex');
}

function addonPath(root) {
  return join(root, 'build', 'Release', 'quarry.node');
}

function readFileIfExists(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
}

function requireNpm() {
  const npm = findNpm();
  if (npm === null) {
    throw new LaunchError(
      'Quarry needs npm to install its packages and to build; there is none on the PATH or beside Node.js. Install npm, then start again.',
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
