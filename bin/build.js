// Builds what Quarry needs to run: packages, native engine, compiled TypeScript, dashboard. Each step compares a
// fingerprint of its sources with the one of its last run, so that a start without changes takes milliseconds.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { withBuildLock } from './build-lock.js';
import { computeFingerprint, listFiles, readFileIfExists } from './fingerprint.js';
import { LaunchError } from './launch-error.js';
import { addonStep, hasAddon, nativeTestsStep, publishedAddonStep } from './native-steps.js';
import { runStep } from './run-step.js';
import { requireNpm } from './toolchain.js';

// The client is tested with the project; the other packages have dependencies of their own.
const sourceFolders = ['src', 'workers', 'bench', 'test', 'models', 'packages/client/src'];

/** Installs and builds everything below `root`, tests included; rejects with a LaunchError that says what to do. */
export async function ensureBuilt(root) {
  await runStaleSteps(root, [
    packagesStep(root, ['ci'], () => true),
    addonStep(root),
    nativeTestsStep(root),
    typescriptStep(root),
    dashboardStep(root),
  ]);
}

/** Installs and builds what the server and the commands need. */
export async function ensureRunnable(root) {
  // A published package has no lock file; everything but the addon is built before it is published.
  if (!existsSync(join(root, 'package-lock.json'))) {
    await runStaleSteps(root, [publishedAddonStep(root)]);
    return;
  }
  await runStaleSteps(root, [
    packagesStep(root, hasDevPackages(root) ? ['ci'] : ['ci', '--omit=dev'], (entry) => entry.dev !== true),
    addonStep(root),
    typescriptStep(root),
    dashboardStep(root),
  ]);
}

/** Compiles TypeScript only; the native engine is built when it is missing, not when it is stale. */
export async function ensureCompiled(root) {
  const addonOnce = { isCurrent: () => hasAddon(root), run: addonStep(root).run };
  await runStaleSteps(root, [packagesStep(root, ['ci'], () => true), addonOnce, typescriptStep(root)]);
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

/** `isNeeded` selects entries of the lock file; `words` are the arguments of npm that install them. */
function packagesStep(root, words, isNeeded) {
  return {
    isCurrent: () => packagesAreInstalled(root, isNeeded),
    async run() {
      const npm = requireNpm();
      await runStep({
        root,
        title: 'installing packages (npm ci)',
        command: process.execPath,
        arguments: [npm.cli, ...words, '--no-audit', '--no-fund'],
        // Versions of npm that ignore allowScripts in package.json run its script, which would download CUDA libraries.
        variables: { ONNXRUNTIME_NODE_INSTALL: 'skip' },
        advice: 'Is the package registry reachable?',
      });
      if (!packagesAreInstalled(root, isNeeded)) {
        throw new LaunchError('npm ci succeeded, but node_modules lacks packages of package-lock.json.');
      }
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

/** An installation with the packages of the tests keeps them. */
function hasDevPackages(root) {
  const text = readFileIfExists(join(root, 'node_modules', '.package-lock.json'));
  return text !== null && Object.values(JSON.parse(text).packages).some((entry) => entry.dev === true);
}

/**
 * npm writes node_modules/.package-lock.json when an installation is complete; it must hold every needed package of
 * the lock file, apart from optional ones that do not fit this platform.
 */
function packagesAreInstalled(root, isNeeded) {
  const installedText = readFileIfExists(join(root, 'node_modules', '.package-lock.json'));
  if (installedText === null) return false;
  const lockedPackages = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const installed = JSON.parse(installedText).packages;
  return Object.entries(lockedPackages).every(([path, entry]) => {
    if (path === '' || !isNeeded(entry)) return true;
    const installedEntry = installed[path];
    if (installedEntry === undefined) return entry.optional === true || entry.devOptional === true;
    return installedEntry.version === entry.version && installedEntry.integrity === entry.integrity;
  });
}
