import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
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
