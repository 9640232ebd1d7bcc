// `npm run package` writes the packages for Linux x64 to build/packages: an archive, a Debian package, the npm packages,
// the bill of materials and SHA256SUMS. The same commit gives the same bytes.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { requireNpm } from '../bin/toolchain.js';
import { writeArchive, writeDebianPackage, writeNpmPackage } from './archives.js';
import { createBillOfMaterials } from './bill-of-materials.js';
import { createManPage } from './man-page.js';
import { PackageError, requireTools, run } from './run.js';
import { installRuntime } from './runtime.js';
import { stageApplication, writeJson, writeText } from './stage-application.js';
import { stageDebian } from './stage-debian.js';
import { stageNpmAddon, stageNpmServer } from './stage-npm.js';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const outputs = join(root, 'build', 'packages');
const staging = join(root, 'build', 'staging');

async function writePackages() {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new PackageError('Packages are built on Linux x64 only.');
  requireTools([
    { command: 'tar', debian: 'tar' },
    { command: 'zstd', debian: 'zstd' },
    { command: 'dpkg-deb', debian: 'dpkg' },
    { command: 'git', debian: 'git' },
  ]);
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const seconds = sourceDate();
  const npm = requireNpm().cli;
  for (const folder of [outputs, staging]) rmSync(folder, { recursive: true, force: true });
  mkdirSync(outputs, { recursive: true });

  const runtime = installRuntime(root);
  const name = `quarry-${manifest.version}-linux-x64`;
  const application = join(staging, name);
  stageApplication({ root, runtime, manifest, folder: application });
  const bill = createBillOfMaterials({ npm, folder: application, runtime, seconds });
  writeJson(join(application, 'sbom.cdx.json'), bill);
  writeJson(join(outputs, `${name}.cdx.json`), bill);
  writeArchive({ parent: staging, name, output: join(outputs, `${name}.tar.zst`), seconds });

  const manPage = createManPage({ ...(await loadCommands()), version: manifest.version, seconds });
  const debian = join(staging, 'debian');
  stageDebian({ root, application, folder: debian, manifest, manPage });
  writeDebianPackage({ folder: debian, output: join(outputs, `quarry_${manifest.version}_amd64.deb`), seconds });

  const stages = { 'npm-addon': stageNpmAddon, 'npm-server': stageNpmServer };
  for (const [part, stage] of Object.entries(stages)) {
    const folder = join(staging, part);
    stage({ root, manifest, folder });
    writeNpmPackage({ npm, folder, outputs });
  }
  writeChecksums();
}

/** The time of the commit, unless the caller fixes another one. */
function sourceDate() {
  const given = process.env.SOURCE_DATE_EPOCH;
  if (given === undefined) return Number(run('git', ['log', '-1', '--format=%ct'], { cwd: root }));
  if (!/^\d+$/.test(given))
    throw new PackageError(`SOURCE_DATE_EPOCH must be a number of seconds, not "${given}".`);
  return Number(given);
}

/** The tables of the command line, from the compiled code. */
async function loadCommands() {
  const load = (file) => import(pathToFileURL(join(root, 'dist', 'src', 'cli', file)).href);
  const { commands, commandGroups } = await load('program.js');
  const { exitCodeMeanings } = await load('exit-codes.js');
  return { commands, commandGroups, exitCodeMeanings };
}

function writeChecksums() {
  const names = readdirSync(outputs).sort();
  const lines = names.map((name) => {
    const content = readFileSync(join(outputs, name));
    return `${createHash('sha256').update(content).digest('hex')}  ${name}\n`;
  });
  writeText(join(outputs, 'SHA256SUMS'), lines.join(''));
  for (const name of names)
    process.stdout.write(`${String(statSync(join(outputs, name)).size).padStart(12)} ${name}\n`);
}

try {
  await writePackages();
} catch (error) {
  if (!(error instanceof PackageError)) throw error;
  process.stderr.write(`quarry: ${error.message}\n`);
  process.exitCode = 1;
}
