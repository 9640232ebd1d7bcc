import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { projectRoot } from '../../src/base/root.ts';

/**
 * Why processes with a user of their own cannot run here, or false. Such a user has to enter each folder above the
 * code, and a clone below a folder of mode 0700 refuses that.
 */
export function withoutOwnUsers(setpriv: string | null): string | false {
  if (process.getuid?.() !== 0 || setpriv === null) return 'needs root and setpriv';
  for (let folder = projectRoot; ; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return `other users cannot enter ${folder}`;
    if (folder === dirname(folder)) return false;
  }
}
