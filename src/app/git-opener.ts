import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../core/app-error.ts';
import { KeyedMutex } from '../core/async/mutex.ts';
import type { PinnedConnections } from '../egress/pinned-connections.ts';
import type { GitSettings } from '../schemas/sources.ts';
import { GitSource } from '../sources/git/git-source.ts';
import type { SourceOpener } from '../sources/source-kinds.ts';

/** Characters that a name of a branch cannot have; Git reports other bad names. */
const branchPattern = /^[^\s:^~?*[\\\p{Cc}]{1,255}$/u;
const credentialPattern = /^[\x21-\x7e]{1,1024}$/;

/** Opens repositories; `cacheFolder` is for their copies, which are deleted at the start of the server. */
export function createGitOpener(connections: PinnedConnections, cacheFolder: string): SourceOpener {
  const locks = new KeyedMutex();
  const copies = join(cacheFolder, 'git');
  let clearing: Promise<void> | null = null;
  return {
    credentialNames: ['username', 'password'],
    canWatch: false,
    async open({ sourceId, settings }, { username = 'git', password }) {
      const git = settings as GitSettings;
      const url = connections.checkUrl(git.url);
      // The name that was checked must be the one to which Git connects.
      if (url.hostname.endsWith('.'))
        throw new AppError('bad_request', 'The host of the URL must not end with a dot.');
      if (git.branch != null && !branchPattern.test(git.branch))
        throw new AppError('bad_request', `${JSON.stringify(git.branch)} is not the name of a branch.`);
      if (
        username.includes(':') ||
        ![username, password ?? '-'].every((text) => credentialPattern.test(text))
      )
        throw new AppError('bad_request', 'The credentials must be printable ASCII text without spaces.');
      clearing ??= rm(copies, { recursive: true, force: true });
      await clearing;
      return new GitSource({
        url,
        branch: git.branch ?? null,
        folder: parseFolder(git.folder ?? ''),
        includesHidden: git.include_hidden ?? false,
        urlPrefix: git.url_prefix ?? null,
        credentials: password === undefined ? null : { username, password },
        connections,
        copyFolder: join(copies, sourceId),
        locks,
      });
    },
    forget: (sourceId) => rm(join(copies, sourceId), { recursive: true, force: true }),
  };
}

/** Returns the folder without a slash at its ends. Errors: `bad_request`. */
function parseFolder(text: string): string {
  const folder = text.replace(/^\/+|\/+$/g, '');
  const isPlain = folder.split('/').every((name) => name !== '.' && name !== '..');
  if (isPlain && !folder.includes('\0')) return folder;
  throw new AppError('bad_request', `${JSON.stringify(text)} is not a folder of a repository.`);
}
