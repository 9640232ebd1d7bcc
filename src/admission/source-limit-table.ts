import { sourceLimits } from '../core/source-limits.ts';
import {
  type EffectRow,
  formatNumber,
  formatSeconds,
  type LimitRow,
  renderEffectTable,
} from './limit-row.ts';

/** Limits of sources that reject a request. */
export const sourceRows: readonly LimitRow[] = [
  {
    limit: 'Sources',
    bounds: 'Sources of an organization, including those that are being deleted',
    value: formatNumber(sourceLimits.perOrganizationMax),
    enforcedIn: 'services/sources.ts perOrganizationMax',
    status: 400,
    header: null,
    share: 'own allowance',
  },
  {
    limit: 'Dry runs',
    bounds: 'Concurrent calls of preview-source',
    value: formatNumber(sourceLimits.runsPerOrganizationMax),
    enforcedIn: 'sources/source-scheduler.ts runsPerOrganizationMax',
    status: 429,
    header: null,
    share: 'own allowance',
  },
];

/** Limits of sources that delay, shorten or fail a run. */
export const sourceEffectRows: readonly EffectRow[] = [
  {
    limit: 'Runs',
    bounds: 'Concurrent runs of all sources, and of those of one organization',
    value: `${formatNumber(sourceLimits.runsMax)}, ${formatNumber(sourceLimits.runsPerOrganizationMax)}`,
    effect: 'other runs wait; the organization with the fewest runs is next',
    enforcedIn: 'sources/source-scheduler.ts runsMax',
  },
  {
    limit: 'Items of a run',
    bounds: 'Items that one run reads at the same time',
    value: formatNumber(sourceLimits.itemsRunningMax),
    effect: 'other items wait',
    enforcedIn: 'sources/synchronizer.ts itemsRunningMax',
  },
  {
    limit: 'Items of a source',
    bounds: 'Items of an origin that are not excluded',
    value: formatNumber(sourceLimits.itemsMax),
    effect: 'the run fails and deletes nothing',
    enforcedIn: 'sources/synchronizer.ts itemsMax',
  },
  {
    limit: 'Watched folders',
    bounds: 'Folders below a folder with `watch`',
    value: formatNumber(sourceLimits.watchedFoldersMax),
    effect: 'the folder is not watched; `watch_error` has the reason',
    enforcedIn: 'sources/directory/folder-watcher.ts watchedFoldersMax',
  },
  {
    limit: 'Ignore file',
    bounds: 'Bytes of a `.quarryignore`',
    value: formatNumber(sourceLimits.ignoreBytesMax),
    effect: 'its folder is not read, and its documents stay',
    enforcedIn: 'sources/directory/walk-folders.ts ignoreBytesMax',
  },
  {
    limit: 'Page',
    bounds: 'Bytes of a page, a feed, a sitemap (also unpacked) or a robots.txt',
    value: formatNumber(sourceLimits.pageBytesMax),
    effect: 'the page fails; no document of the site is deleted in this run',
    enforcedIn: 'sources/web/web-client.ts pageBytesMax',
  },
  {
    limit: 'Website',
    bounds: 'Pages of a site, links from its first page to a page, and requests per second',
    value: [sourceLimits.websitePagesMax, sourceLimits.websiteDepthMax, sourceLimits.requestsPerSecondMax]
      .map(formatNumber)
      .join(', '),
    effect: 'further pages are not read',
    enforcedIn: 'app/source-kinds.ts websitePagesMax',
  },
  {
    limit: 'Main content',
    bounds:
      'Time and megabytes of memory for the extraction of the main content of a page, with `main_content`',
    value: `${formatSeconds(sourceLimits.mainContentMsMax)}, ${formatNumber(sourceLimits.mainContentMbMax)}`,
    effect: 'the item fails; the next run retries it',
    enforcedIn: 'sources/web/main-content-thread.ts msMax',
  },
  {
    limit: 'Feed',
    bounds: 'Entries of a feed',
    value: formatNumber(sourceLimits.feedEntriesMax),
    effect: 'further entries are not read',
    enforcedIn: 'sources/web/feed-source.ts feedEntriesMax',
  },
  {
    limit: 'Copies of Git repositories',
    bounds: 'Bytes of all copies that are kept between runs; a fetch never uses the reserve of the disk',
    value: formatNumber(sourceLimits.gitCopiesBytesMax),
    effect: 'the least recently used copies are deleted, and fetched again by the next run',
    enforcedIn: 'app/git-opener.ts gitCopiesBytesMax',
  },
  {
    limit: 'Git repository',
    bounds: 'Bytes of the copy of a repository, fetches into it, and time of a fetch',
    value: [
      formatNumber(sourceLimits.gitCopyBytesMax),
      formatNumber(sourceLimits.gitPacksMax),
      formatSeconds(sourceLimits.gitFetchMsMax),
    ].join(', '),
    effect: 'a larger commit, or a longer fetch, fails the run; a larger copy is replaced by a new one',
    enforcedIn: 'sources/git/git-copies.ts gitCopyBytesMax',
  },
  {
    limit: 'Files of a commit',
    bounds: 'Bytes of the list of the files of a commit',
    value: formatNumber(sourceLimits.gitOutputBytesMax),
    effect: 'the run fails and deletes nothing',
    enforcedIn: 'sources/git/git-process.ts gitOutputBytesMax',
  },
  {
    limit: 'WebDAV folders',
    bounds: 'Folders of a WebDAV source, and their depth',
    value: [sourceLimits.davFoldersMax, sourceLimits.davDepthMax].map(formatNumber).join(', '),
    effect:
      'with more folders the run fails and deletes nothing; deeper folders are not read, and their documents stay',
    enforcedIn: 'sources/webdav/webdav-source.ts davFoldersMax',
  },
  {
    limit: 'WebDAV replies',
    bounds: 'Bytes and time of the listing of a folder, and time of the download of a file',
    value: [
      formatNumber(sourceLimits.davListingBytesMax),
      formatSeconds(sourceLimits.davListingMsMax),
      formatSeconds(sourceLimits.davFileMsMax),
    ].join(', '),
    effect: 'the folder is not read, and its documents stay; the file fails',
    enforcedIn: 'sources/webdav/webdav-client.ts davListingBytesMax',
  },
  {
    limit: 'Mailboxes',
    bounds: 'Mailboxes of an IMAP source',
    value: formatNumber(sourceLimits.imapMailboxesMax),
    effect: 'the run fails and deletes nothing',
    enforcedIn: 'sources/imap/imap-source.ts imapMailboxesMax',
  },
  {
    limit: 'IMAP replies',
    bounds: 'Bytes of a message, bytes of other replies, and time without data',
    value: [
      formatNumber(sourceLimits.imapMessageBytesMax),
      formatNumber(sourceLimits.imapReplyBytesMax),
      formatSeconds(sourceLimits.imapMsMax),
    ].join(', '),
    effect: 'the message fails; the mailbox is not read, and its documents stay',
    enforcedIn: 'sources/imap/imap-connection.ts imapMessageBytesMax',
  },
  {
    limit: 'Waiting item',
    bounds:
      'Attempts to add an item while a queue is full or an allowance is used up, and the wait between them',
    value: `${formatNumber(sourceLimits.retriesMax)}, up to ${formatSeconds(sourceLimits.retryMsMax)}`,
    effect: 'the item fails; the next run retries it',
    enforcedIn: 'sources/document-target.ts retriesMax',
  },
  {
    limit: 'Dry run',
    bounds: 'Changes in the reply of preview-source, and its duration',
    value: `${formatNumber(sourceLimits.planMax)}, ${formatSeconds(sourceLimits.planMsMax)}`,
    effect: 'further changes are only counted; `is_complete` is false',
    enforcedIn: 'services/sources.ts planMax',
  },
];

export function renderSourceLimits(): string {
  return `\n## Runs of sources\n\nThese limits reject no request.\n\n${renderEffectTable(sourceEffectRows)}`;
}
