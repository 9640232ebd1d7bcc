import { readdir, readFile, readlink } from 'node:fs/promises';

/** State of a listening socket in /proc/net/tcp. */
const listenState = '0A';

/**
 * Returns the descriptor of this process that listens on a TCP port. The servers do not report it, so it is found in the
 * table of sockets of Linux. Errors: Error if there is none, or no such table.
 */
export async function findListeningDescriptor(port: number): Promise<number> {
  const sockets = new Set<string>();
  for (const table of ['tcp', 'tcp6']) {
    // Absent without IPv6.
    const text = await readFile(`/proc/self/net/${table}`, 'utf8').catch(() => '');
    for (const inode of listeningInodes(text, port)) sockets.add(`socket:[${inode}]`);
  }
  for (const descriptor of await readdir('/proc/self/fd')) {
    // The descriptor with which the folder is read is closed meanwhile.
    const target = await readlink(`/proc/self/fd/${descriptor}`).catch(() => '');
    if (sockets.has(target)) return Number(descriptor);
  }
  throw new Error(`no listening socket of port ${port} was found`);
}

function listeningInodes(table: string, port: number): string[] {
  const rows = table.split('\n').map((line) => line.trim().split(/\s+/));
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return rows.flatMap(([, local, , state, , , , , , inode]) =>
    state === listenState && local?.endsWith(suffix) && inode !== undefined ? [inode] : [],
  );
}
