// Builds the native addon and the program with its tests; takes the addon from the cache of the user where possible.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { readCachedAddon, writeCachedAddon } from './addon-cache.js';
import { computeFingerprint, listFiles, readFileIfExists } from './fingerprint.js';
import { LaunchError } from './launch-error.js';
import { runStep } from './run-step.js';
import { findHeaders, missingTools, requireNpm } from './toolchain.js';

/** The addon that the server loads. */
export function addonStep(root) {
  const addon = addonPath(root);
  const stamp = join(root, 'build', 'quarry.stamp');
  const fingerprint = () => nativeFingerprint(root, []);
  return {
    isCurrent: () => existsSync(addon) && readFileIfExists(stamp) === fingerprint(),
    async run() {
      // Computed before the build: a source that is edited during the build is compiled by the next start.
      const built = fingerprint();
      const cached = readCachedAddon(built);
      if (cached === null) {
        await compileTarget(root, 'quarry', 'compiling the native engine', addon);
        writeCachedAddon(built, readFileSync(addon));
      } else {
        process.stderr.write('quarry: the native engine was compiled before; using the cached one\n');
        mkdirSync(dirname(addon), { recursive: true });
        rmSync(addon, { force: true }); // a running server has the old file mapped
        writeFileSync(addon, cached);
      }
      writeFileSync(stamp, built);
    },
  };
}

/** The program with the native tests. */
export function nativeTestsStep(root) {
  const program = join(root, 'build', 'Release', 'engine_test');
  const stamp = join(root, 'build', 'engine_test.stamp');
  const fingerprint = () =>
    nativeFingerprint(
      root,
      listFiles(root, 'test/native', (name) => /\.(cc|h)$/.test(name)),
    );
  return {
    isCurrent: () => existsSync(program) && readFileIfExists(stamp) === fingerprint(),
    async run() {
      const built = fingerprint();
      await compileTarget(root, 'engine_test', 'compiling the native tests', program);
      writeFileSync(stamp, built);
    },
  };
}

/** Compiles the addon of a published package if the package with the prebuilt one is not installed. */
export function publishedAddonStep(root) {
  const step = addonStep(root);
  return { isCurrent: () => hasPrebuiltAddon(root) || existsSync(addonPath(root)), run: step.run };
}

export function hasAddon(root) {
  return existsSync(addonPath(root));
}

function hasPrebuiltAddon(root) {
  try {
    createRequire(join(root, 'package.json')).resolve(`@quarry/native-${process.platform}-${process.arch}`);
    return true;
  } catch (error) {
    if (error.code === 'MODULE_NOT_FOUND') return false;
    throw error;
  }
}

function addonPath(root) {
  return join(root, 'build', 'Release', 'quarry.node');
}

/** The C library is part of it: containers with different ones can share a home directory. */
function nativeFingerprint(root, more) {
  const { glibcVersionRuntime } = process.report.getReport().header;
  const paths = ['binding.gyp', ...listFiles(root, 'native', () => true), ...more];
  return computeFingerprint(root, paths, [process.platform, process.arch, glibcVersionRuntime ?? null]);
}

async function compileTarget(root, target, title, output) {
  const missing = missingTools();
  if (missing.length > 0) throw new LaunchError(missingToolsMessage(missing));
  const headers = findHeaders();
  const runGyp = (step, words) =>
    runStep({
      root,
      title: step,
      command: process.execPath,
      arguments: [
        requireNpm().nodeGyp,
        ...words,
        '--release',
        ...(headers === null ? [] : [`--nodedir=${headers}`]),
      ],
      advice: 'Quarry needs a compiler that supports C++20 (g++ 11 or clang 14, or newer).',
    });
  await runGyp('preparing the native engine', ['configure']);
  await runGyp(title, ['build', target, `--jobs=${availableParallelism()}`]);
  if (!existsSync(output))
    throw new LaunchError(`The native build did not create ${relative(root, output)}.`);
}

function missingToolsMessage(missing) {
  return (
    `Quarry compiles its search engine and needs ${missing.join(' and ')}. ` +
    'Install the missing tools (Debian, Ubuntu: apt-get install g++ make python3; Fedora: dnf install gcc-c++ make python3; ' +
    'macOS: xcode-select --install), then start again.'
  );
}
