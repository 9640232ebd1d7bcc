import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { projectRoot } from '../../src/core/root.ts';

/**
 * The reason why sandboxed processes cannot run as separate users on this machine, or false. Such a user must be
 * able to enter each folder above the code; a clone below a folder of mode 0700 does not allow it.
 */
export function sandboxUsersUnavailable(setpriv: string | null): string | false {
  if (process.getuid?.() !== 0 || setpriv === null) return 'needs root and setpriv';
  for (let folder = projectRoot; ; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return `other users cannot enter ${folder}`;
    if (folder === dirname(folder)) return false;
  }
}
