import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const debianRelease = 'bookworm';
const requiredPrograms = ['debootstrap', 'unshare', 'chroot', 'mount', 'ip'];

/** Why clean root file systems cannot be made on this machine; null if they can. */
export function findMissingRequirement(): string | null {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'the packages are for Linux x64';
  if (process.getuid?.() !== 0) return 'only root can create a root file system';
  const missing = requiredPrograms.find(
    (program) => spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0,
  );
  return missing === undefined
    ? null
    : `${missing} is not installed (Debian: apt-get install debootstrap iproute2)`;
}

export interface CleanRootOptions {
  /** Folders of this machine by their paths in the root file system. */
  readonly folders?: Readonly<Record<string, string>>;
  readonly variables?: Readonly<Record<string, string>>;
  readonly userId?: number;
  /** Paths that stay writable when everything else is read-only. */
  readonly writable?: readonly string[];
}

export interface RunResult {
  readonly status: number | null;
  readonly output: string;
}

/** A minimal Debian in a folder: no compiler, no Node.js. Its programs run without a network. */
export class CleanRoot {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** Downloads Debian with debootstrap. */
  static create(folder: string): CleanRoot {
    const words = ['--variant=minbase', debianRelease, folder];
    const { status, stdout, stderr } = spawnSync('debootstrap', words, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`debootstrap failed: ${stdout.slice(-2_000)}${stderr}`);
    return new CleanRoot(folder);
  }

  /** Runs a shell script in the root file system, in an empty network namespace with a loopback interface. */
  run(script: string, { folders = {}, variables = {}, userId, writable }: CleanRootOptions = {}): RunResult {
    const root = this.folder;
    for (const path of Object.keys(folders)) mkdirSync(join(root, path), { recursive: true });
    const user = userId === undefined ? '' : `--userspec=${userId}:${userId}`;
    const setUp = [
      'set -e',
      // The test runner would inject its loaders.
      'unset NODE_OPTIONS',
      'ip link set lo up',
      ...(writable === undefined ? [] : [`mount --bind ${root} ${root}`, `mount -o remount,bind,ro ${root}`]),
      ...(writable ?? []).map((path) => `mount --bind ${root}.writable${path} ${root}${path}`),
      `mount -t proc proc ${root}/proc`,
      `mount -t tmpfs tmpfs ${root}/tmp`,
      ...Object.entries(folders).map(([path, source]) => `mount --bind ${source} ${root}${path}`),
      `exec chroot ${user} ${root} /bin/sh -ec "$SCRIPT"`,
    ];
    for (const path of writable ?? []) {
      mkdirSync(`${root}.writable${path}`, { recursive: true });
      spawnSync('chown', ['-R', `${userId}:${userId}`, `${root}.writable`]);
    }
    const words = ['--mount', '--pid', '--fork', '--kill-child', '--net', 'sh', '-c', setUp.join('\n')];
    const { status, stdout, stderr } = spawnSync('unshare', words, {
      encoding: 'utf8',
      env: {
        PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
        SCRIPT: script,
        ...variables,
      },
    });
    return { status, output: `${stdout}${stderr}` };
  }

  has(path: string): boolean {
    return existsSync(join(this.folder, path));
  }

  /** Deletes the data that programs wrote below `writable` paths. */
  clearWritable(): void {
    rmSync(`${this.folder}.writable`, { recursive: true, force: true });
  }
}
