import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../../src/core/root.ts';
import { operatorKey } from '../e2e/server.ts';
import { buildPdf } from '../parsing/pdf-fixtures.ts';
import t, { type Test } from '../support/tap.ts';
import { testEventMsMax, testFileMsMax } from '../timeouts.ts';
import { CleanRoot, type CleanRootOptions, findMissingRequirement } from './clean-root.ts';
import { readDockerfile } from './dockerfile.ts';

/** Installs each package in a minimal Debian, without compiler and without network, and uses the server. */

t.setTimeout(testFileMsMax);

const missing = findMissingRequirement();
const packages = join(projectRoot, 'build', 'packages');
const { version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
  version: string;
};
const archive = `quarry-${version}-linux-x64.tar.zst`;
const debianPackage = `quarry_${version}_amd64.deb`;
const npmPackages = [`quarry-native-linux-x64-${version}.tgz`, `quarry-${version}.tgz`];
const unpackedNode = `/opt/quarry-${version}-linux-x64/bin/node`;

/** With these, a server that cannot load its HTTP server or its engine does not start. */
const variables = {
  QUARRY_API_KEY: operatorKey,
  QUARRY_HTTP: 'uws',
  QUARRY_PORT: '8720',
  QUARRY_DATA: '/var/lib/quarry',
};

/** Starts the server `$1`, adds the samples, searches, stops it, and prints its log. */
const useServer = `
use_server() {
  "$@" serve >/tmp/server.log 2>&1 &
  server=$!
  until=$(($(date +%s) + ${testEventMsMax / 1_000}))
  until "$@" status >/dev/null 2>&1; do
    [ "$(date +%s)" -lt "$until" ] && kill -0 $server || { cat /tmp/server.log; exit 1; }
    sleep 0.2
  done
  "$@" ingest /samples
  for query in 'what does a volcano erupt?' 'aardwolf termites' 'days after the goods came back'; do
    "$@" search --json --k 1 "$query"
  done
  kill -TERM $server
  wait $server
  cat /tmp/server.log
}
`;

/** The check fails without a server, and passes with one. */
const checkHealth = `
set -- CHECK
! "$@"
/usr/bin/quarry serve >/dev/null 2>&1 &
server=$!
until=$(($(date +%s) + ${testEventMsMax / 1_000}))
until "$@"; do
  [ "$(date +%s)" -lt "$until" ]
  sleep 0.2
done
kill -TERM $server
wait $server
`;

function writeSamples(folder: string): void {
  mkdirSync(folder);
  writeFileSync(join(folder, 'volcano.md'), '# Volcanoes\n\nA volcano erupts molten basalt.\n');
  writeFileSync(join(folder, 'animals.pdf'), buildPdf(['The aardwolf eats termites at night.']));
  // Has no text: found only if the embedded OCR engine reads it.
  cpSync(join(projectRoot, 'web', 'pictures', 'search.png'), join(folder, 'picture.png'));
}

function expectAnswers(t: Test, root: CleanRoot, command: string, options: CleanRootOptions): void {
  const folders = { '/samples': join(`${root.folder}.samples`), ...options.folders };
  const { status, output } = root.run(`${useServer}\nuse_server ${command}`, {
    variables,
    ...options,
    folders,
  });
  t.equal(status, 0, output);
  t.match(output, /3 indexed, 0 failed/);
  for (const path of ['volcano.md', 'animals.pdf', 'picture.png']) t.match(output, `"path":"${path}"`);
  t.match(output, /\nStopped\n/);
}

/** The checksums of the packages that a build writes. */
function buildPackages(t: Test): string {
  const words = [join(projectRoot, 'packaging', 'main.js')];
  const { status, stderr } = spawnSync('env', ['-u', 'NODE_OPTIONS', process.execPath, ...words], {
    encoding: 'utf8',
  });
  t.equal(status, 0, stderr);
  return readFileSync(join(packages, 'SHA256SUMS'), 'utf8');
}

t.test('packages for Linux', { skip: missing ?? false }, async (t) => {
  const checksums = buildPackages(t);
  t.equal(buildPackages(t), checksums, 'the same commit gives the same bytes');
  const check = spawnSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: packages });
  t.equal(check.status, 0);

  const parent = mkdtempSync(join(tmpdir(), 'quarry-package-'));
  t.teardown(() => spawnSync('rm', ['-rf', '--one-file-system', parent]));
  writeSamples(join(parent, 'root.samples'));
  const root = CleanRoot.create(join(parent, 'root'));
  t.notOk(root.has('/usr/bin/cc'));
  t.notOk(root.has('/usr/bin/node'));

  t.test('archive', (t) => {
    const words = [
      '--zstd',
      '--extract',
      `--directory=${root.folder}/opt`,
      `--file=${join(packages, archive)}`,
    ];
    t.equal(spawnSync('tar', words).status, 0);
    symlinkSync(
      `/opt/quarry-${version}-linux-x64/quarry`,
      join(root.folder, 'usr', 'local', 'bin', 'quarry'),
    );
    expectAnswers(t, root, 'quarry', { variables: { ...variables, QUARRY_DATA: '/tmp/data' } });
    t.end();
  });

  t.test('npm packages', (t) => {
    const folder = join(root.folder, 'opt', 'npm');
    mkdirSync(folder);
    installWithNpm(t, root, folder);
    const command = `${unpackedNode} /opt/npm/node_modules/quarry/bin/quarry.js`;
    expectAnswers(t, root, command, { variables: { ...variables, QUARRY_DATA: '/tmp/data' } });
    t.end();
  });

  t.test('Debian package', (t) => {
    const install = root.run(`dpkg --install /packages/${debianPackage} && id quarry`, {
      folders: { '/packages': packages },
    });
    t.equal(install.status, 0, install.output);
    checkService(t, root);
    const userId = Number(root.run('id -u quarry').output);
    expectAnswers(t, root, '/usr/bin/quarry', { userId, writable: ['/var/lib/quarry'] });
    root.clearWritable();
    t.equal(root.run('touch /var/lib/quarry/document && dpkg --remove quarry').status, 0);
    t.ok(root.has('/var/lib/quarry/document'), 'a removal keeps the data');
    t.ok(root.has('/etc/quarry/quarry.env'));
    t.equal(root.run('dpkg --purge quarry').status, 0);
    t.notOk(root.has('/var/lib/quarry'));
    t.notOk(root.has('/etc/quarry'));
    t.equal(root.run('getent passwd quarry').status, 2, 'the user is removed');
    t.end();
  });

  t.test('Dockerfile', (t) => {
    replayDockerfile(t, root);
    t.end();
  });
});

/** Without a compiler on the PATH, like `npx quarry` on a fresh machine. */
function installWithNpm(t: Test, root: CleanRoot, folder: string): void {
  const programs = join(`${root.folder}.programs`);
  mkdirSync(programs);
  symlinkSync(join(root.folder, unpackedNode), join(programs, 'node'));
  symlinkSync('/bin/sh', join(programs, 'sh'));
  const npm = spawnSync('sh', ['-c', 'readlink -f "$(command -v npm)"'], { encoding: 'utf8' }).stdout.trim();
  const archives = npmPackages.map((name) => join(packages, name));
  const { status, stdout, stderr } = spawnSync(
    '/usr/bin/env',
    [
      '-u',
      'NODE_OPTIONS',
      join(programs, 'node'),
      npm,
      'install',
      '--prefix',
      folder,
      '--prefer-offline',
      '--no-audit',
      '--no-fund',
      ...archives,
    ],
    {
      encoding: 'utf8',
      cwd: folder,
      env: { ...process.env, PATH: programs, ONNXRUNTIME_NODE_INSTALL: 'skip' },
    },
  );
  t.equal(status, 0, `${stdout}${stderr}`);
  t.notOk(root.has('/opt/npm/node_modules/quarry/build'), 'nothing was compiled');
}

function checkService(t: Test, root: CleanRoot): void {
  const { output } = root.run(`
    stat -c '%U:%G %a %n' /var/lib/quarry /etc/quarry/quarry.env
    ls /etc/systemd/system/multi-user.target.wants /usr/share/bash-completion/completions \
      /usr/share/zsh/vendor-completions /usr/share/fish/vendor_completions.d
    zcat /usr/share/man/man1/quarry.1.gz`);
  t.match(output, 'quarry:quarry 750 /var/lib/quarry\nroot:quarry 640 /etc/quarry/quarry.env\n');
  t.match(output, /^quarry\.service$/m);
  t.match(output, /^_quarry$/m);
  t.match(output, /^quarry\.fish$/m);
  t.match(output, '.SS\nquarry serve\n');
  const unit = readFileSync(join(root.folder, 'usr/lib/systemd/system/quarry.service'), 'utf8');
  const copy = join(`${root.folder}.samples`, '..', 'quarry.service');
  writeFileSync(copy, unit.replaceAll('/usr/bin/quarry', join(root.folder, 'usr/bin/quarry')));
  const socket = join(root.folder, 'usr/lib/systemd/system/quarry.socket');
  const verify = spawnSync('systemd-analyze', ['verify', '--man=no', copy, socket], { encoding: 'utf8' });
  if (verify.error !== undefined) t.comment('systemd-analyze is not installed: the unit is not verified');
  else t.same([verify.status, verify.stderr], [0, '']);
}

/** Runs the steps of the Dockerfile, then its commands as its user, with a read-only root file system. */
function replayDockerfile(t: Test, root: CleanRoot): void {
  const file = readDockerfile(join(projectRoot, 'deploy', 'Dockerfile'));
  for (const step of file.steps) {
    const { status, output } = root.run(step, { folders: { '/packages': packages } });
    t.equal(status, 0, output);
  }
  const image = {
    userId: file.userId,
    writable: [file.volume],
    variables: { ...variables, ...file.variables },
  };
  t.same(file.command, ['/usr/bin/quarry', 'serve']);
  expectAnswers(t, root, '/usr/bin/quarry', image);
  const check = file.healthCheck.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  const { status, output } = root.run(
    checkHealth.replace('CHECK', () => check),
    image,
  );
  t.equal(status, 0, output);
}
