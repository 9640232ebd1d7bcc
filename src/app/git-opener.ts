import { join } from 'node:path';
import { AppError } from '../core/app-error.ts';
import { sourceLimits } from '../core/source-limits.ts';
import type { PinnedConnections } from '../egress/pinned-connections.ts';
import type { GitSettings } from '../schemas/sources.ts';
import { GitCopies } from '../sources/git/git-copies.ts';
import { GitSource } from '../sources/git/git-source.ts';
import type { SourceOpener } from '../sources/source-kinds.ts';

/** Characters that a name of a branch cannot have; Git reports other bad names. */
const branchPattern = /^[^\s:^~?*[\\\p{Cc}]{1,255}$/u;
const credentialPattern = /^[\x21-\x7e]{1,1024}$/;

interface GitOpenerOptions {
  readonly connections: PinnedConnections;
  /** For copies of repositories, which are deleted at the start of the server. */
  readonly cacheFolder: string;
  /** Bytes that a fetch may write now. */
  readonly bytesFree: () => number;
}

/** Opens repositories. */
export function createGitOpener({ connections, cacheFolder, bytesFree }: GitOpenerOptions): SourceOpener {
  const { gitCopiesBytesMax: bytesMax } = sourceLimits;
  const copies = new GitCopies({ folder: join(cacheFolder, 'git'), bytesMax });
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
        throw new AppError('bad_request', `${JSON.stringify(git.branch)} is not a valid branch name.`);
      if (
        username.includes(':') ||
        ![username, password ?? '-'].every((text) => credentialPattern.test(text))
      )
        throw new AppError('bad_request', 'The credentials must be printable ASCII text without spaces.');
      const folder = parseFolder(git.folder ?? '');
      return new GitSource({
        url,
        branch: git.branch ?? null,
        folder,
        includesHidden: git.include_hidden ?? false,
        urlPrefix: git.url_prefix ?? null,
        credentials: password === undefined ? null : { username, password },
        connections,
        copy: await copies.open(sourceId),
        bytesFree,
      });
    },
    forget: (sourceId) => copies.forget(sourceId),
  };
}

/** Returns the folder without a slash at its ends. Errors: `bad_request`. */
function parseFolder(text: string): string {
  const folder = text.replace(/^\/+|\/+$/g, '');
  const isPlain = folder.split('/').every((name) => name !== '.' && name !== '..');
  if (isPlain && !folder.includes('\0')) return folder;
  throw new AppError(
    'bad_request',
    `${JSON.stringify(text)} is not a valid path of a folder in a repository.`,
  );
}
