import type { FetchMessageObject, ListResponse } from 'imapflow';
import { AppError } from '../../core/app-error.ts';
import { sourceLimits } from '../../core/source-limits.ts';
import { toTimestamp } from '../../core/timestamps.ts';
import type { Metadata } from '../../storage/metadata-codec.ts';
import type { Source, SourceChange, SourceContent, SourceItem, SourceListing } from '../source.ts';
import { asStream } from '../web/feed-source.ts';
import type { ImapConnection } from './imap-connection.ts';

export interface ImapSourceOptions {
  /** Mailbox that is read with those below it; null: all, without the ones of `omittedUses`. */
  readonly mailbox: string | null;
  readonly connection: ImapConnection;
}

/** Uses of mailboxes without messages of their own, or with messages that are not documents. */
const omittedUses = ['\\All', '\\Drafts', '\\Flagged', '\\Junk', '\\Trash'];
/** Characters of a header that becomes metadata. */
const headerUnitsMax = 998;

/** Messages of an account. A message never changes; a moved one is a new message in its mailbox. */
export class ImapSource implements Source {
  readonly #options: ImapSourceOptions;
  /** Paths of the mailboxes by the folders of their keys. */
  readonly #mailboxes = new Map<string, string>();

  constructor(options: ImapSourceOptions) {
    this.#options = options;
  }

  async *listChanges(
    _cursor: string | null,
    signal: AbortSignal,
  ): AsyncGenerator<SourceChange, SourceListing, void> {
    const mailboxes = this.#choose(await this.#options.connection.listMailboxes(signal));
    for (const mailbox of mailboxes) this.#mailboxes.set(folderOf(mailbox), mailbox.path);
    for (const [folder, path] of this.#mailboxes) yield* this.#listMailbox(folder, path, signal);
    return { cursor: null, isComplete: true };
  }

  /** Errors: AppError if the mailbox of the settings does not exist, or if there are too many. */
  #choose(listed: readonly ListResponse[]): ListResponse[] {
    const { imapMailboxesMax } = sourceLimits;
    const { mailbox } = this.#options;
    const chosen = listed
      .filter(({ flags }) => !flags.has('\\Noselect') && !flags.has('\\NonExistent'))
      .filter(({ path, delimiter, specialUse }) =>
        mailbox === null
          ? !omittedUses.includes(specialUse ?? '')
          : path === mailbox || path.startsWith(`${mailbox}${delimiter}`),
      );
    if (mailbox !== null && chosen.length === 0)
      throw new AppError('bad_gateway', `The account has no mailbox ${JSON.stringify(mailbox)}.`);
    if (chosen.length > imapMailboxesMax)
      throw new AppError(
        'bad_request',
        `The account has more than ${imapMailboxesMax} mailboxes. Choose one mailbox; it is read with those below it.`,
      );
    return chosen;
  }

  async *#listMailbox(
    folder: string,
    path: string,
    signal: AbortSignal,
  ): AsyncGenerator<SourceChange, void, void> {
    let listing: Awaited<ReturnType<ImapConnection['listMessages']>>;
    try {
      listing = await this.#options.connection.listMessages(path, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof AppError) || !this.#options.connection.isOpen) throw error;
      yield { type: 'unlisted', key: folder, isPrefix: true, reason: error.message };
      return;
    }
    for (const uid of listing.uids)
      yield { type: 'item', item: { key: `${folder}${uid}.eml`, version: listing.validity, metadata: {} } };
  }

  async read({ key, version }: SourceItem, signal: AbortSignal): Promise<SourceContent | null> {
    const location = this.#locate(key);
    if (location === null) return null;
    const message = await this.#options.connection.readMessage({ ...location, validity: version }, signal);
    if (message === null) return null;
    const { source = Buffer.alloc(0) } = message;
    return { bytes: asStream(source), metadata: metadataOf(location.mailbox, message) };
  }

  async exists(key: string, signal: AbortSignal): Promise<boolean> {
    const location = this.#locate(key);
    if (location === null) return false;
    return await this.#options.connection.hasMessage(location.mailbox, location.uid, signal);
  }

  async close(): Promise<void> {
    await this.#options.connection.close();
  }

  #locate(key: string): { readonly mailbox: string; readonly uid: number } | null {
    const [, folder = '', uid = ''] = /^(.*\/)(\d+)\.eml$/s.exec(key) ?? [];
    const mailbox = this.#mailboxes.get(folder);
    return mailbox === undefined ? null : { mailbox, uid: Number(uid) };
  }
}

/** Folder of the keys of a mailbox. Names can contain a slash where the delimiter is another character. */
function folderOf({ path, delimiter }: ListResponse): string {
  const names = delimiter === '' ? [path] : path.split(delimiter);
  return names.map((name) => `${name.replace(/[%/]/g, encodeURIComponent)}/`).join('');
}

function metadataOf(mailbox: string, { envelope, internalDate }: FetchMessageObject): Metadata {
  const time = internalDate === undefined ? Number.NaN : new Date(internalDate).getTime();
  const from = envelope?.from?.[0]?.address;
  const messageId = envelope?.messageId;
  return {
    source_mailbox: mailbox,
    ...(Number.isNaN(time) ? {} : { modified_at: toTimestamp(time) }),
    ...(from ? { source_from: from.slice(0, headerUnitsMax) } : {}),
    ...(messageId ? { source_message_id: messageId.slice(0, headerUnitsMax) } : {}),
  };
}
