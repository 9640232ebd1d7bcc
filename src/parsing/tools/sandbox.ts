import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { assertDefined } from '../../core/assert.ts';
import type { SandboxUsers } from '../sandbox-users.ts';

/**
 * How programs and parser processes are kept from the data of the server, the strongest level first:
 *
 * - `bubblewrap`, `namespaces`: mount, process and network namespaces of their own, with an allow-list of read-only folders.
 * - `user+network`, `user`: a user of their own that may not enter the data directory, with or without network namespace.
 * - `network`: a network namespace only.
 * - `none`: resource limits, and the permission model of Node for parser processes.
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

/** Plain data: it is sent to the worker threads. */
export interface Sandbox {
  readonly level: IsolationLevel;
  /** What `wrapCommand` puts between the launcher of the level and its command. */
  readonly launcher: readonly string[];
  /** Absolute path of `setpriv`, for levels that need it. */
  readonly setpriv: string | null;
  /** For levels whose programs have users of their own. */
  readonly users: SandboxUsers | null;
}

export const noSandbox: Sandbox = { level: 'none', launcher: [], setpriv: null, users: null };

export interface SandboxedCommand {
  /** The program with its absolute path, and its arguments. */
  readonly program: readonly string[];
  /** The only folder that the program may write, and where it starts; null: there is none. */
  readonly folder: string | null;
  /** Files and folders that it may read besides the programs and fonts of the system. */
  readonly readable: readonly string[];
  /** Number of the user as which it runs, of `Sandbox.users`; null at levels without. */
  readonly userId: number | null;
}

/** Launchers and shells tell that a signal ended their program by a code above this one. */
export const signalExitCodeBase = 128;

/** The command line that runs a command inside of the sandbox; arguments may be appended to it. */
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
        ...buildPrivilegeFlags(sandbox, assertDefined(command.userId, 'the level gives a user')),
        ...command.program,
      ];
    case 'network':
    case 'none':
      return [...launcher, ...command.program];
  }
}

/** Ends the program with its parent, takes away all privileges, and changes the user when one is given. */
function buildPrivilegeFlags({ setpriv }: Sandbox, userId: number | null = null): string[] {
  const user = userId === null ? [] : ['--reuid', `${userId}`, '--regid', `${userId}`, '--clear-groups'];
  const privileges = ['--no-new-privs', '--inh-caps=-all', '--bounding-set=-all', '--pdeathsig', 'KILL'];
  return setpriv === null ? [] : [setpriv, ...user, ...privileges, '--'];
}

/** Programs, libraries and fonts. Of `/etc` only what these read: it may hold secrets of other programs. */
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

/** Those of the paths that exist here. On most hosts `/bin` and `/lib` are links to folders of `/usr`. */
function listExistingPaths(paths: readonly string[]): SystemPath[] {
  return paths.flatMap((path) => {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) return [];
    return [{ path, link: found.isSymbolicLink() ? readlinkSync(path) : null }];
  });
}

/** A program outside of the folders of the system, such as one in `/opt`, brings the folder that it was installed in. */
export function findInstallFolder(program: string): string[] {
  if (!existsSync(program)) return []; // its start says so
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
    // LibreOffice insists on writing there.
    ...(folder === null ? ['--dir', '/tmp'] : ['--bind', folder, '/tmp']),
    ...system,
    ...readOnlyPaths.flatMap((path) => ['--ro-bind', path, path]),
    ...(folder === null ? [] : ['--bind', folder, folder]),
    ...['--remount-ro', '/', '--chdir', folder ?? '/'],
  ];
}

/**
 * The same with `mount`, for hosts without bubblewrap. A file system in memory becomes the root, with the old one in `/old`;
 * `/new` receives what is allowed and becomes the root in turn, and the old one is detached. The shell stays the first
 * process of its namespace: a first process could not end itself with a signal.
 */
function buildMountScript({ program, folder, readable }: SandboxedCommand): string {
  const allow = (path: string, flags: string) =>
    `allow ${quoteShell(path)} ${flags} ${quoteShell(`/new${dirname(path)}`)}`;
  const readOnly = (path: string) => allow(path, 'bind,ro');
  const system = listExistingPaths(systemPaths).map(({ path, link }) =>
    link === null
      ? readOnly(path)
      : `mkdir -p ${quoteShell(`/new${dirname(path)}`)}; ln -s ${quoteShell(link)} ${quoteShell(`/new${path}`)}`,
  );
  const readOnlyPaths = [...program.slice(0, 1).flatMap(findInstallFolder), ...readable];
  return [
    'set -e; PATH=/usr/bin:/bin:/usr/sbin:/sbin',
    'allow() {',
    '  if [ -e "/new$1" ]; then :; elif [ -d "/old$1" ]; then mkdir -p "/new$1"; else mkdir -p "$3"; : > "/new$1"; fi',
    '  mount -o "$2" "/old$1" "/new$1"',
    '}',
    'mount --make-rprivate /',
    'mount -t tmpfs -o mode=755,size=1m sandbox /tmp',
    'cd /tmp; mkdir old new',
    'for path in usr bin sbin lib lib32 lib64 nix gnu; do ln -s "old/$path" "$path"; done',
    'pivot_root . old; cd /',
    'mount -t tmpfs -o mode=755,size=1m sandbox /new',
    'mkdir /new/proc /new/tmp /new/old',
    'mount -t proc -o ro,nosuid,nodev,noexec proc /new/proc',
    ...(folder === null ? [] : [`mount -o bind ${quoteShell(`/old${folder}`)} /new/tmp`]),
    ...system,
    ...['null', 'zero', 'full', 'random', 'urandom'].map((name) => allow(`/dev/${name}`, 'bind')),
    ...readOnlyPaths.map(readOnly),
    ...(folder === null ? [] : [allow(folder, 'bind')]),
    'cd /new; pivot_root . old; cd /',
    'umount -l /old; rmdir /old',
    'mount -o remount,bind,ro /',
    `cd ${quoteShell(folder ?? '/')}`,
    '"$@"; exit $?',
  ].join('\n');
}

function quoteShell(path: string): string {
  return `'${path.replaceAll("'", `'\\''`)}'`;
}
