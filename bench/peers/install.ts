import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compileHnswlibNative } from './hnswlib-native.ts';
import { type PeerPackage, peerPackages, peersFolder } from './peer-packages.ts';

/** Packages with install scripts that compile or download files. */
const packagesWithScripts: readonly PeerPackage[] = ['hnswlib-node', 'usearch', 'better-sqlite3'];
const outputBytesMax = 64 * 1024 * 1024;

/**
 * Installs the peer engines into the bench's own folder, one by one, so that a failed installation does not
 * affect the others. Prints the result of each. Returns the number of failures.
 */
export function installPeers(print: (line: string) => void): number {
  mkdirSync(peersFolder, { recursive: true });
  const manifest = {
    name: 'quarry-bench-peers',
    private: true,
    // Lists the installed packages, because npm removes packages that are not in the manifest.
    dependencies: Object.fromEntries(
      Object.entries(peerPackages).filter(([name, version]) => isInstalled(name, version)),
    ),
    allowScripts: Object.fromEntries(packagesWithScripts.map((name) => [name, true])),
  };
  writeFileSync(join(peersFolder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  const steps: readonly (readonly [name: string, step: () => unknown])[] = [
    ...Object.entries(peerPackages).map(
      ([name, version]) =>
        [`${name}@${version}`, () => isInstalled(name, version) || npmInstall(`${name}@${version}`)] as const,
    ),
    ['hnswlib compiled for this machine', compileHnswlibNative],
  ];
  let failures = 0;
  for (const [name, step] of steps) {
    try {
      step();
      print(`installed  ${name}`);
    } catch (error) {
      failures += 1;
      print(`FAILED     ${name}: ${firstLines(error)}`);
    }
  }
  return failures;
}

function isInstalled(name: string, version: string): boolean {
  const manifest = join(peersFolder, 'node_modules', name, 'package.json');
  if (!existsSync(manifest)) return false;
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version === version;
}

function npmInstall(packageSpec: string): void {
  const npm = process.env.npm_execpath;
  const [program, first] = npm === undefined ? ['npm', []] : [process.execPath, [npm]];
  const flags = ['install', '--no-audit', '--no-fund', '--save-exact', '--prefix', peersFolder];
  execFileSync(program, [...first, ...flags, packageSpec], {
    cwd: peersFolder,
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
    maxBuffer: outputBytesMax,
  });
}

function firstLines(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message: string };
  return (stderr?.trim() || message).split('\n').slice(-6).join('\n           ');
}
