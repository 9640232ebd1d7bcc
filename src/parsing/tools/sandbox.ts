import { existsSync, lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { assertDefined } from '../../core/assert.ts';
import type { SandboxUsers } from '../sandbox-users.ts';

/**
 * Levels of isolation between programs or parser processes and the server data, strongest first:
 *
 * - `bubblewrap`, `namespaces`: separate mount, process and network namespaces with an allow-list of
 *   read-only folders.
 * - `user+network`, `user`: a separate user that may not enter the data directory, with or without a network
 *   namespace.
 * - `network`: a network namespace only.
 * - `none`: resource limits, and Node's permission model for parser processes.
 */
export const isolationLevels = [
  'bubblewrap',
  'namespaces',
  'user+network',
  'user',
  'network',
  'none',
] as const;
export type IsolationLevel = (typeof isolationLevels)[number];

/** Plain data, because it is sent to worker threads. */
export interface Sandbox {
  readonly level: IsolationLevel;
  /** Command prefix that starts the level; `wrapCommand` adds the flags that depend on the command. */
  readonly launcher: readonly string[];
  /** Absolute path of `setpriv`, for levels that need it. */
  readonly setpriv: string | null;
  /** User ids for levels with separate users; null for other levels. */
  readonly users: SandboxUsers | null;
}

export const noSandbox: Sandbox = { level: 'none', launcher: [], setpriv: null, users: null };

export interface SandboxedCommand {
  /** Absolute path of the program, and its arguments. */
  readonly program: readonly string[];
  /** Working directory and the only folder that the program may write; null: none. */
  readonly folder: string | null;
  /** Files and folders that the program may read besides system programs and fonts. */
  readonly readable: readonly string[];
  /** User id from `Sandbox.users`; null for levels without separate users. */
  readonly userId: number | null;
}

/** Launchers and shells exit with this code plus the number of the signal that killed their program. */
export const signalExitCodeBase = 128;

/** Returns the command line that runs a command inside the sandbox; arguments may be appended. */
export function wrapCommand(sandbox: Sandbox, command: SandboxedCommand): readonly string[] {
  const { launcher } = sandbox;
  switch (sandbox.level) {
    case 'bubblewrap':
      return [...launcher, ...buildBubblewrapFlags(command), '--', ...command.program];
    case 'namespaces':
      return [
        ...launcher,
        '/bin/sh',
        '-c',
        buildMountScript(command),
        'sh',
        ...buildPrivilegeFlags(sandbox),
        ...command.program,
      ];
    case 'user+network':
    case 'user':
      return [
        ...launcher,
        ...buildPrivilegeFlags(sandbox, assertDefined(command.userId, 'the sandbox level assigns a user')),
        ...command.program,
      ];
    case 'network':
    case 'none':
      return [...launcher, ...command.program];
  }
}

/** Ends the program with its parent, drops all privileges, and changes the user if one is given. */
function buildPrivilegeFlags({ setpriv }: Sandbox, userId: number | null = null): string[] {
  const user = userId === null ? [] : ['--reuid', `${userId}`, '--regid', `${userId}`, '--clear-groups'];
  const privileges = ['--no-new-privs', '--inh-caps=-all', '--bounding-set=-all', '--pdeathsig', 'KILL'];
  return setpriv === null ? [] : [setpriv, ...user, ...privileges, '--'];
}

/**
 * Programs, libraries and fonts. Only the parts of `/etc` that these need, because `/etc` may hold secrets of
 * other programs.
 */
const systemPaths = [
  ...['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store', '/gnu/store'],
  ...['/etc/alternatives', '/etc/fonts', '/etc/ld.so.cache', '/etc/ld.so.conf', '/etc/ld.so.conf.d'],
  ...[
    '/etc/libreoffice',
    '/etc/localtime',
    '/etc/papersize',
    '/var/cache/fontconfig',
    '/var/lib/libreoffice',
  ],
] as const;

type SystemPath = { readonly path: string; readonly link: string | null };

/**
 * Returns the paths that exist on this host. On most hosts `/bin` and `/lib` are links to folders in `/usr`.
 */
function listExistingPaths(paths: readonly string[]): SystemPath[] {
  return paths.flatMap((path) => {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) return [];
    return [{ path, link: found.isSymbolicLink() ? readlinkSync(path) : null }];
  });
}

/**
 * Returns the install folder of a program in `/opt`, which must be readable in addition to the system
 * folders.
 */
export function findInstallFolder(program: string): string[] {
  if (!existsSync(program)) return []; // starting the program reports the error
  const [, top = '', name = ''] = realpathSync(program).split('/');
  return top === 'opt' && name !== '' ? [join('/', top, name)] : [];
}

function buildBubblewrapFlags({ program, folder, readable }: SandboxedCommand): string[] {
  const system = listExistingPaths(systemPaths).flatMap(({ path, link }) =>
    link === null ? ['--ro-bind', path, path] : ['--symlink', link, path],
  );
  const readOnlyPaths = [...program.slice(0, 1).flatMap(findInstallFolder), ...readable];
  return [
    ...['--unshare-all', '--die-with-parent', '--cap-drop', 'ALL', '--hostname', 'sandbox'],
    ...['--proc', '/proc', '--dev', '/dev'],
    // LibreOffice requires a writable `/tmp`.
    ...(folder === null ? ['--dir', '/tmp'] : ['--bind', folder, '/tmp']),
    ...system,
    ...readOnlyPaths.flatMap((path) => ['--ro-bind', path, path]),
    ...(folder === null ? [] : ['--bind', folder, folder]),
    ...['--remount-ro', '/', '--chdir', folder ?? '/'],
  ];
}

/**
 * Builds the same file system with `mount`, for hosts without bubblewrap. A tmpfs becomes the root with the
 * old root in `/old`; `/new` receives the allowed paths and then becomes the root, and the old root is
 * detached. The shell remains process 1 of its namespace, because process 1 could not end itself with a
 * signal.
 *
 * A program per step handles all paths: one `mkdir` and one `mount` for each path take three times the CPU time.
 */
function buildMountScript({ program, folder, readable }: SandboxedCommand): string {
  const system = listExistingPaths(systemPaths);
  const links = system.filter(({ link }) => link !== null).map(({ path }) => path);
  const systemFolders = system.filter(({ link }) => link === null).map(({ path }) => path);
  const devices = ['null', 'zero', 'full', 'random', 'urandom'].map((name) => `/dev/${name}`);
  const readOnlyPaths = [...program.slice(0, 1).flatMap(findInstallFolder), ...readable];
  const writable = folder === null ? [] : [folder];
  return [
    'set -e; PATH=/usr/bin:/bin:/usr/sbin:/sbin',
    'mount --make-rprivate /',
    'mount -t tmpfs -o mode=755,size=1m sandbox /tmp',
    'cd /tmp; mkdir old new',
    // `mount --all` reads the list of mounts in `/proc`.
    'ln -s old/usr old/bin old/sbin old/lib old/lib32 old/lib64 old/nix old/gnu old/proc .',
    'pivot_root . old; cd /',
    'mount -t tmpfs -o mode=755,size=1m sandbox /new',
    ...createMountPoints([...systemFolders, ...devices], ['/proc', '/tmp', '/old', ...links.map(dirname)]),
    ...links.map((path) => `cp -P ${quoteShell(`/old${path}`)} ${quoteShell(`/new${path}`)}`),
    ...mountAll([
      'proc /new/proc proc ro,nosuid,nodev,noexec',
      ...writable.map((path) => bindMount(path, 'bind', '/tmp')),
      ...systemFolders.map((path) => bindMount(path, 'bind,ro')),
      ...devices.map((path) => bindMount(path, 'bind')),
    ]),
    // Only now: paths below a system folder exist already.
    ...createMountPoints([...readOnlyPaths, ...writable], []),
    ...mountAll([
      ...readOnlyPaths.map((path) => bindMount(path, 'bind,ro')),
      ...writable.map((path) => bindMount(path, 'bind')),
    ]),
    'cd /new; pivot_root . old; cd /',
    'umount -l /old; rmdir /old',
    'mount -o remount,bind,ro /',
    `cd ${quoteShell(folder ?? '/')}`,
    '"$@"; exit $?',
  ].join('\n');
}

/** Creates the folders, and below `/new` an empty folder or file for each path. */
function createMountPoints(paths: readonly string[], folders: readonly string[]): string[] {
  const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  const files = paths.filter((path) => !isFolder(path));
  const allFolders = new Set([...folders, ...paths.filter(isFolder), ...files.map((path) => dirname(path))]);
  return [
    `mkdir -p ${[...allFolders].map((path) => quoteShell(`/new${path}`)).join(' ')}`,
    ...files.map((path) => quoteShell(`/new${path}`)).map((file) => `[ -e ${file} ] || : > ${file}`),
  ];
}

/** Mounts the lines of an fstab in their order. */
function mountAll(lines: readonly string[]): string[] {
  return [`printf '%s\\n' ${lines.map(quoteShell).join(' ')} > /fstab`, 'mount --all --fstab /fstab'];
}

/** Line of an fstab for a path of the old root. */
function bindMount(path: string, options: string, target = path): string {
  return `${escapeFstab(`/old${path}`)} ${escapeFstab(`/new${target}`)} none ${options}`;
}

function escapeFstab(path: string): string {
  return path.replace(/[\s\\]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`);
}

function quoteShell(path: string): string {
  return `'${path.replaceAll("'", `'\\''`)}'`;
}
