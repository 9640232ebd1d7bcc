/** Bounds of sources that are not settings. Names end with the unit; `Max` bounds are inclusive. */
export const sourceLimits = {
  perOrganizationMax: 100,
  nameBytesMax: 256,
  settingUnitsMax: 4_096,
  itemsMax: 100_000,
  /** Items of one run that are read at the same time. */
  itemsRunningMax: 4,
  runsMax: 8,
  runsPerOrganizationMax: 2,
  /** Attempts to store an item while the server accepts no documents, and the wait between two of them. */
  retriesMax: 60,
  retryMs: 250,
  retryMsMax: 30_000,
  tickMs: 1_000,
  /** Delay after a change of a watched folder, so that several changes cause one run. */
  watchMs: 500,
  watchedFoldersMax: 2_000,
  ignoreBytesMax: 262_144,
  /** Changes in the reply of a dry run, and its duration. */
  planMax: 1_000,
  planMsMax: 45_000,
  /** Bytes of a page, a feed, a sitemap (also unpacked) or a robots.txt. */
  pageBytesMax: 10_000_000,
  websitePagesMax: 5_000,
  websitePagesDefault: 1_000,
  websiteDepthMax: 20,
  websiteDepthDefault: 5,
  /** Time and memory for the main content of a page, with `main_content`. */
  mainContentMsMax: 60_000,
  mainContentMbMax: 512,
  requestsPerSecondMax: 20,
  requestsPerSecondDefault: 2,
  crawlDelayMsMax: 30_000,
  urlUnitsMax: 2_048,
  redirectsMax: 5,
  feedEntriesMax: 1_000,
  /** Bytes of the copy of a Git repository, and of each of its packs; a copy with more is fetched anew. */
  gitCopyBytesMax: 1_073_741_824,
  /** Bytes of all copies that are kept between runs. */
  gitCopiesBytesMax: 4_294_967_296,
  /** Fetches after which the copy is replaced by a new one. */
  gitPacksMax: 50,
  gitFetchMsMax: 600_000,
  /** Bytes of the list of the files of a commit. */
  gitOutputBytesMax: 67_108_864,
  /** Folders of a WebDAV source and their depth, and bytes and time of the listing of one of them. */
  davFoldersMax: 20_000,
  davDepthMax: 64,
  davListingBytesMax: 33_554_432,
  davListingMsMax: 300_000,
  /** Time of the download of a file. */
  davFileMsMax: 3_600_000,
  /** Mailboxes of an account, bytes of a message and of other replies, and time without data. */
  imapMailboxesMax: 1_000,
  imapMessageBytesMax: 52_428_800,
  imapReplyBytesMax: 4_194_304,
  imapMsMax: 60_000,
  /** Known pages of a website as JSON; with more, every run reads all pages. */
  cursorUnitsMax: 8_000_000,
} as const;
