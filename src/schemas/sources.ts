import { sourceLimits } from '../core/source-limits.ts';
import { type Static, Type } from './typebox.ts';
import {
  CollectionName,
  Component,
  Count,
  DocumentMetadataJson,
  Nullable,
  OneOf,
  Timestamp,
} from './wire.ts';

/** Schemas of sources. Ranges are checked by `source-checks.ts` (400). */

const text = (description: string, examples: string[] = []) =>
  Type.String({ maxLength: sourceLimits.settingUnitsMax, description, examples });

export const SourceName = (missing = 'An unknown name returns 404.') =>
  Type.String({
    description: `Name of the source: 1 to 256 bytes of UTF-8, without NUL. ${missing}`,
    examples: ['handbook-files'],
  });

const DirectorySettings = Component('DirectorySettings', 'A folder on the machine that runs the server.', {
  path: text('Absolute path, inside a folder of `QUARRY_SOURCE_FOLDERS`.', ['/srv/handbook']),
  include_hidden: Type.Optional(
    Type.Boolean({ description: 'Whether names that start with a dot are included; default false.' }),
  ),
  url_prefix: Type.Optional(
    Nullable(text('Prefix of the URL of each file. The URL becomes its metadata `source_url`.')),
  ),
});
export type DirectorySettings = Static<typeof DirectorySettings>;

const S3Settings = Component('S3Settings', 'A bucket in S3 or a compatible store.', {
  bucket: text('Name of the bucket.', ['company-documents']),
  key_prefix: Type.Optional(
    Nullable(
      text('Only objects with this key prefix, such as `handbook/`. Document paths do not contain it.'),
    ),
  ),
  region: Type.Optional(Nullable(text('Region of the bucket; default `us-east-1`.'))),
  endpoint: Type.Optional(Nullable(text('URL of a compatible store; default: AWS S3 in the region.'))),
  include_tags: Type.Optional(
    Type.Boolean({
      description: 'Whether the tags of each object become metadata named `source_tag_...`; default false.',
    }),
  ),
});
export type S3Settings = Static<typeof S3Settings>;

const rateField = Type.Optional(
  Nullable(Type.Number(), {
    description:
      'Requests per second: more than 0, at most 20; default 2. A crawl delay of robots.txt is respected.',
  }),
);

const WebsiteSettings = Component('WebsiteSettings', 'Pages of a website.', {
  url: text('The first page. Only pages in its folder are followed.', ['https://docs.example.com/guide/']),
  sitemap_url: Type.Optional(Nullable(text('A sitemap. Its pages are read, and links are not followed.'))),
  max_pages: Type.Optional(
    Nullable(Type.Integer(), { description: 'Maximum number of pages: 1 to 5,000; default 1,000.' }),
  ),
  max_depth: Type.Optional(
    Nullable(Type.Integer(), {
      description: 'Maximum number of links from the first page to a page: 0 to 20; default 5.',
    }),
  ),
  requests_per_second: rateField,
  main_content: Type.Optional(
    Type.Boolean({
      description:
        'Whether documents contain only the main content of pages, without navigation, headers and footers; default false.',
    }),
  ),
});
export type WebsiteSettings = Static<typeof WebsiteSettings>;

const FeedSettings = Component('FeedSettings', 'An RSS or Atom feed.', {
  url: text('The feed.', ['https://example.com/news.xml']),
  keep_removed: Type.Optional(
    Type.Boolean({
      description: 'Whether documents are kept when their entries leave the feed; default true.',
    }),
  ),
});
export type FeedSettings = Static<typeof FeedSettings>;

const GitSettings = Component('GitSettings', 'Files of the last commit of a Git repository.', {
  url: text('Address of the repository for `git clone`, with https://.', [
    'https://example.com/handbook.git',
  ]),
  branch: Type.Optional(Nullable(text('Name of the branch; default: the default branch of the repository.'))),
  folder: Type.Optional(
    Nullable(text('Folder of the repository; not part of the paths. Default: all files.')),
  ),
  include_hidden: Type.Optional(
    Type.Boolean({ description: 'Whether names that start with a dot are included; default false.' }),
  ),
  url_prefix: Type.Optional(
    Nullable(
      text(
        'Prefix of the URL of each file, to which its path in the repository is added. The URL becomes its metadata `source_url`.',
        ['https://example.com/handbook/blob/main/'],
      ),
    ),
  ),
});
export type GitSettings = Static<typeof GitSettings>;

const WebDavSettings = Component('WebDavSettings', 'Files of a folder of a WebDAV server.', {
  url: text('URL of the folder, with https://.', [
    'https://cloud.example.com/remote.php/dav/files/ada/Handbook/',
  ]),
  include_hidden: Type.Optional(
    Type.Boolean({ description: 'Whether names that start with a dot are included; default false.' }),
  ),
});
export type WebDavSettings = Static<typeof WebDavSettings>;

const ImapSettings = Component('ImapSettings', 'Messages of a mail account.', {
  host: text('Host of the IMAP server.', ['mail.example.com']),
  port: Type.Optional(Nullable(Type.Integer(), { description: 'Port; default 993, or 143 without TLS.' })),
  tls: Type.Optional(
    Type.Boolean({
      description:
        'Whether the connection is encrypted; default true. False only for hosts of `QUARRY_SOURCE_PRIVATE_HOSTS`.',
    }),
  ),
  mailbox: Type.Optional(
    Nullable(
      text(
        'Mailbox that is read with those below it; default: all without drafts, junk, trash and mailboxes that repeat messages of others.',
        ['INBOX'],
      ),
    ),
  ),
});
export type ImapSettings = Static<typeof ImapSettings>;

export const sourceKinds = ['directory', 's3', 'website', 'rss', 'git', 'webdav', 'imap'] as const;
export type SourceKind = (typeof sourceKinds)[number];

/** Settings by kind; a request has exactly one of them. */
const kindFields = {
  directory: Type.Optional(DirectorySettings),
  s3: Type.Optional(S3Settings),
  website: Type.Optional(WebsiteSettings),
  rss: Type.Optional(FeedSettings),
  git: Type.Optional(GitSettings),
  webdav: Type.Optional(WebDavSettings),
  imap: Type.Optional(ImapSettings),
} as const;

const optionFields = {
  schedule: Type.Optional(
    Nullable(
      text(
        'An interval (`30m`, `6h`, `1d`), a time of day (`02:30`), a cron expression of five fields (`0 3 * * MON-FRI`), or `off`.',
      ),
      { description: 'Schedule of the runs; default `1h`.' },
    ),
  ),
  time_zone: Type.Optional(
    Nullable(text('Name of a time zone, such as `Europe/Berlin`.'), {
      description: 'Time zone of times of day and cron expressions; default `UTC`.',
    }),
  ),
  watch: Type.Optional(
    Nullable(Type.Boolean(), {
      description:
        'Whether a change in the folder starts a run immediately; only for `directory`; default false.',
    }),
  ),
  metadata: Type.Optional(
    Nullable(DocumentMetadataJson, { description: 'Metadata of all documents of the source.' }),
  ),
  credentials: Type.Optional(
    Nullable(Type.Record(Type.String(), text('A secret value.')), {
      description: 'Secrets for access to the origin, by name. They are stored encrypted and never returned.',
    }),
  ),
} as const;

export const AddSourceRequest = Component('AddSourceRequest', 'A source to create.', {
  source_name: SourceName('An existing name returns 409.'),
  collection_name: CollectionName(),
  ...kindFields,
  prefix: Type.Optional(
    Nullable(Type.String(), { description: 'Prefix of the paths of its documents, such as `handbook/`.' }),
  ),
  ...optionFields,
});
export type AddSourceRequest = Static<typeof AddSourceRequest>;

export const UpdateSourceRequest = Component(
  'UpdateSourceRequest',
  'Changes to a source; absent fields keep their values. The kind cannot be changed.',
  { source_name: SourceName(), ...kindFields, ...optionFields },
);
export type UpdateSourceRequest = Static<typeof UpdateSourceRequest>;

export const SourceRequest = Component('SourceRequest', 'A source.', { source_name: SourceName() });
export type SourceRequest = Static<typeof SourceRequest>;

export const DeleteSourceRequest = Component('DeleteSourceRequest', 'A source to delete.', {
  source_name: SourceName(),
  delete_documents: Type.Optional(
    Type.Boolean({ description: 'Whether its documents are deleted too; default false.' }),
  ),
});
export type DeleteSourceRequest = Static<typeof DeleteSourceRequest>;

export const SyncSourceRequest = Component('SyncSourceRequest', 'A source to synchronize.', {
  source_name: SourceName(),
  allow_empty: Type.Optional(
    Type.Boolean({
      description: 'Whether all documents may be deleted because the origin is empty; default false.',
    }),
  ),
});
export type SyncSourceRequest = Static<typeof SyncSourceRequest>;

const SourceCountsInfo = Type.Object({
  added: Count('Documents added.'),
  updated: Count('Documents with new content or metadata.'),
  deleted: Count('Documents deleted.'),
  unchanged: Count('Items that did not change.'),
  failed: Count('Items that could not be stored.'),
});

export const SourceInfo = Component('SourceInfo', 'A source and its state.', {
  source_name: Type.String(),
  collection_name: Nullable(Type.String(), { description: 'Null if the collection was deleted.' }),
  kind: OneOf(sourceKinds),
  ...kindFields,
  prefix: Type.String(),
  schedule: Type.String(),
  time_zone: Type.String(),
  watch: Type.Boolean(),
  watch_error: Nullable(Type.String(), { description: 'Reason why the folder is not watched.' }),
  metadata: DocumentMetadataJson,
  has_credentials: Type.Boolean(),
  state: OneOf(['idle', 'queued', 'running', 'paused', 'deleting']),
  running: Nullable(Type.Object({ started_at: Timestamp('Start of the run.'), counts: SourceCountsInfo }), {
    description: 'The run in progress; null if there is none.',
  }),
  last_run: Nullable(
    Type.Object({
      started_at: Timestamp('Start of the run.'),
      ended_at: Timestamp('End of the run.'),
      outcome: OneOf(['succeeded', 'partial', 'failed', 'interrupted'], {
        description: '`partial`: some items failed. `failed`: the origin could not be read.',
      }),
      error: Nullable(Type.String()),
      counts: SourceCountsInfo,
    }),
    { description: 'The last run; null before the first one.' },
  ),
  last_success_at: Nullable(Type.String(), {
    description: 'Start of the last run that completely synchronized the documents with the origin.',
  }),
  next_run_at: Nullable(Type.String(), {
    description: 'Time of the next scheduled run; null if none is scheduled.',
  }),
  created_at: Timestamp('Time when the source was created.'),
});
export type SourceInfo = Static<typeof SourceInfo>;

export const SourceResponse = Component('SourceResponse', 'A source.', { source: SourceInfo });
export type SourceResponse = Static<typeof SourceResponse>;

export const GetSourceListResponse = Component('GetSourceListResponse', 'All sources of the organization.', {
  sources: Type.Array(SourceInfo, { description: 'In ascending order of their names.' }),
});
export type GetSourceListResponse = Static<typeof GetSourceListResponse>;

export const PreviewSourceResponse = Component(
  'PreviewSourceResponse',
  'Changes that a run would make now. Files are compared by time and size, so some may turn out to be unchanged.',
  {
    counts: SourceCountsInfo,
    changes: Type.Array(
      Type.Object({
        key: Type.String({ description: 'Name of the item in the origin.' }),
        path: Type.String({ description: 'Path of its document.' }),
        action: OneOf(['add', 'update', 'delete', 'fail']),
        error: Nullable(Type.String()),
      }),
      { description: `The first ${sourceLimits.planMax.toLocaleString('en-US')} changes.` },
    ),
    is_complete: Type.Boolean({
      description: 'False if the time limit of the call ended before the whole origin was listed.',
    }),
  },
);
export type PreviewSourceResponse = Static<typeof PreviewSourceResponse>;

export const GetSourceItemListRequest = Component('GetSourceItemListRequest', 'Items of a source.', {
  source_name: SourceName(),
  only_failed: Type.Optional(
    Type.Boolean({ description: 'Whether only failed items are returned; default false.' }),
  ),
  key_gt: Type.Optional(Nullable(Type.String(), { description: 'Only items after this one.' })),
  limit: Type.Optional(
    Nullable(Type.Integer(), { description: 'Maximum number of items: 1 to 1,024; default 1,024.' }),
  ),
});
export type GetSourceItemListRequest = Static<typeof GetSourceItemListRequest>;

export const GetSourceItemListResponse = Component('GetSourceItemListResponse', 'Items of a source.', {
  items: Type.Array(
    Type.Object({
      key: Type.String({ description: 'Name of the item in the origin.' }),
      path: Type.String({ description: 'Path of its document.' }),
      result: OneOf(['added', 'updated', 'failed'], { description: 'Result of its last change.' }),
      error: Nullable(Type.String(), { description: 'Reason for the failure.' }),
      at: Timestamp('Time of the result.'),
      sha256: Nullable(Type.String(), { description: 'SHA-256 of its document; null if it has none.' }),
    }),
    { description: 'In ascending order of their keys.' },
  ),
  next_key_gt: Nullable(Type.String(), {
    description: '`key_gt` of the next request; null at the end.',
  }),
});
export type GetSourceItemListResponse = Static<typeof GetSourceItemListResponse>;
