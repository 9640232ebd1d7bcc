import { isIP } from 'node:net';
import { AppError } from '../../core/app-error.ts';
import { withTimeout } from '../../core/async/with-timeout.ts';
import { sourceLimits } from '../../core/source-limits.ts';
import { type PinnedConnections, portOf } from '../../egress/pinned-connections.ts';
import type { Source, SourceChange, SourceContent, SourceItem, SourceListing } from '../source.ts';
import type { GitCopy } from './git-copies.ts';
import { checkGitVersion, runGit, streamGit } from './git-process.ts';

export interface GitSourceOptions {
  readonly url: URL;
  /** Null: the default branch. */
  readonly branch: string | null;
  /** Folder of the repository that is followed; empty: all. */
  readonly folder: string;
  readonly includesHidden: boolean;
  /** Start of the URLs of the files; null: they have none. */
  readonly urlPrefix: string | null;
  /** Null: the repository is public. */
  readonly credentials: { readonly username: string; readonly password: string } | null;
  readonly connections: Pick<PinnedConnections, 'resolve'>;
  /** Released when the source is closed. */
  readonly copy: GitCopy;
  /** Bytes that a fetch may write now. */
  readonly bytesFree: () => number;
}

/** Reference to the fetched commit in the copy. */
const fetchedRef = 'refs/quarry/head';
const fileModes = new Set(['100644', '100755', '100664']);
/** Below this, a fetch is not started. */
const fetchBytesMin = 33_554_432;
const lfsPointer = Buffer.from('version https://git-lfs.github.com/spec/');

/**
 * Files of the last commit of a branch. Each run fetches only that commit, without its history, and lists its files with
 * the hashes of their contents, so that changed, renamed and deleted files are found without a difference of commits.
 */
export class GitSource implements Source {
  readonly #options: GitSourceOptions;

  constructor(options: GitSourceOptions) {
    this.#options = options;
  }

  async *listChanges(
    _cursor: string | null,
    signal: AbortSignal,
  ): AsyncGenerator<SourceChange, SourceListing, void> {
    const commit = await this.#options.copy.update((isNew) => this.#fetch(isNew, signal));
    for (const change of await this.#list(commit, signal)) yield change;
    return { cursor: null, isComplete: true };
  }

  async read({ version }: SourceItem, signal: AbortSignal): Promise<SourceContent> {
    const { folder } = this.#options.copy;
    const words = ['cat-file', 'blob', version];
    return { bytes: rejectPointers(streamGit({ folder, arguments: words, signal })) };
  }

  /** A file that is not in the listed commit does not exist. */
  async exists(): Promise<boolean> {
    return false;
  }

  async close(): Promise<void> {
    await this.#options.copy.release();
  }

  /** Fetches the last commit into the copy and returns its hash. */
  async #fetch(isNew: boolean, signal: AbortSignal): Promise<string> {
    const { copy, url, branch, connections, bytesFree } = this.#options;
    const { folder } = copy;
    const fileBytesMax = Math.min(sourceLimits.gitCopyBytesMax, bytesFree());
    if (fileBytesMax < fetchBytesMin)
      throw new AppError(
        'reserve_reached',
        'The disk of the server has no space for the repository. Ask its operator to free space.',
      );
    const address = await connections.resolve(url.hostname, portOf(url));
    await checkGitVersion(folder, signal);
    if (isNew) await runGit({ folder, arguments: ['init', '--quiet', '--bare', '.'], signal });
    const settings = { ...pin(url, address), ...this.#authorization };
    const from = branch === null ? 'HEAD' : `refs/heads/${branch}`;
    const options = ['--quiet', '--depth=1', '--no-tags', '--no-write-fetch-head', '--force'];
    const words = ['fetch', ...options, '--', url.href, `+${from}:${fetchedRef}`];
    await withTimeout({ signal, msMax: sourceLimits.gitFetchMsMax }, async (limited) => {
      try {
        await runGit({ folder, arguments: words, settings, signal: limited, fileBytesMax });
      } catch (error) {
        if (limited.aborted && !signal.aborted)
          throw new AppError(
            'bad_gateway',
            `The repository was not received within ${sourceLimits.gitFetchMsMax / 60_000} minutes. Use a smaller repository, or ask the operator of this server to check its connection.`,
            { cause: error },
          );
        throw error;
      }
    });
    const commit = await runGit({ folder, arguments: ['rev-parse', '--verify', fetchedRef], signal });
    return commit.toString('latin1').trim();
  }

  async #list(commit: string, signal: AbortSignal): Promise<SourceChange[]> {
    const { copy, folder } = this.#options;
    const tree = folder === '' ? commit : `${commit}:${folder}`;
    const words = ['ls-tree', '-r', '-z', tree];
    let output: Buffer;
    try {
      output = await runGit({ folder: copy.folder, arguments: words, signal });
    } catch (cause) {
      const isTooLarge = cause instanceof AppError && cause.code === 'too_large';
      if (folder === '' || signal.aborted || isTooLarge) throw cause;
      const message = `The repository has no folder ${JSON.stringify(folder)}.`;
      throw new AppError('bad_request', message, { cause });
    }
    return output
      .toString('utf8')
      .split('\0')
      .flatMap((line) => this.#toChange(line) ?? []);
  }

  /** Null for an entry that is not a file, such as a link or a submodule. */
  #toChange(line: string): SourceChange | null {
    const [, mode = '', version = '', key = ''] =
      /^(\d+) blob ([0-9a-f]{40,64})\t([\s\S]+)$/.exec(line) ?? [];
    const { includesHidden, urlPrefix, folder } = this.#options;
    if (!fileModes.has(mode) || (!includesHidden && /(^|\/)\./.test(key))) return null;
    if (key.includes('\ufffd'))
      return { type: 'unlisted', key, isPrefix: false, reason: 'The name is not valid UTF-8.' };
    const path = folder === '' ? key : `${folder}/${key}`;
    const url =
      urlPrefix === null ? null : `${urlPrefix}${path.split('/').map(encodeURIComponent).join('/')}`;
    return { type: 'item', item: { key, version, metadata: url === null ? {} : { source_url: url } } };
  }

  get #authorization(): Record<string, string> {
    const { credentials } = this.#options;
    if (credentials === null) return {};
    const text = Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64');
    return { 'http.extraHeader': `Authorization: Basic ${text}` };
  }
}

/** Returns the setting by which the name of the host is not resolved again. */
function pin(url: URL, address: string): Readonly<Record<string, string>> {
  const { hostname } = url;
  if (hostname.startsWith('[') || isIP(hostname) !== 0) return {};
  const pinned = address.includes(':') ? `[${address}]` : address;
  return { 'http.curloptResolve': `${hostname}:${portOf(url)}:${pinned}` };
}

/** Errors: `bad_request` for a file of Git LFS, whose content is not in the repository. */
async function* rejectPointers(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, void> {
  let isFirst = true;
  for await (const piece of content) {
    if (isFirst && piece.subarray(0, lfsPointer.length).equals(lfsPointer))
      throw new AppError('bad_request', 'The file is stored in Git LFS, which is not read.');
    isFirst = false;
    yield piece;
  }
}
