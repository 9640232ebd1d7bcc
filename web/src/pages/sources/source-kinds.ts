import type { SourceInfo, SourceKind } from '../../server/sources.ts';
import { texts } from '../../texts/en/sources.ts';

/** Fields of the settings of each kind of source, for forms and descriptions. */

export interface SourceField {
  /** Name in the settings or in the credentials. */
  readonly name: string;
  readonly label: string;
  readonly type: 'text' | 'url' | 'number' | 'switch';
  readonly hint?: string;
  readonly placeholder?: string;
  readonly isRequired?: boolean;
  /** Value of a switch that is not set. */
  readonly isOnByDefault?: boolean;
}

export interface SourceKindDescription {
  readonly name: string;
  /** The first one names the origin. */
  readonly fields: readonly SourceField[];
  readonly moreFields: readonly SourceField[];
  readonly credentials: readonly SourceField[];
  /** Whether changes of the origin can start a run. */
  readonly canWatch: boolean;
}

const authorization: SourceField = {
  name: 'authorization',
  label: texts.authorizationHeader,
  type: 'text',
  placeholder: 'Bearer …',
};

const username: SourceField = { name: 'username', label: texts.userName, type: 'text' };
const password: SourceField = { name: 'password', label: texts.passwordOrToken, type: 'text' };

export const sourceKindDescriptions: Readonly<Record<SourceKind, SourceKindDescription>> = {
  directory: {
    name: texts.folder,
    fields: [
      {
        name: 'path',
        label: texts.path,
        type: 'text',
        hint: texts.aFolderOnTheServer,
        placeholder: '/srv/handbook',
        isRequired: true,
      },
    ],
    moreFields: [
      { name: 'include_hidden', label: texts.includeNamesThatStartWith, type: 'switch' },
      { name: 'url_prefix', label: texts.urlPrefixOfTheFiles, type: 'url' },
    ],
    credentials: [],
    canWatch: true,
  },
  s3: {
    name: texts.s3Bucket,
    fields: [
      { name: 'bucket', label: texts.bucket, type: 'text', placeholder: 'reports', isRequired: true },
      { name: 'key_prefix', label: texts.keyPrefix, type: 'text', placeholder: '2026/' },
      { name: 'region', label: texts.region, type: 'text', placeholder: 'us-east-1' },
    ],
    moreFields: [
      { name: 'endpoint', label: texts.endpointOfACompatibleStore, type: 'url' },
      { name: 'include_tags', label: texts.storeTheTagsOfObjects, type: 'switch' },
    ],
    credentials: [
      { name: 'access_key_id', label: texts.accessKeyId, type: 'text' },
      { name: 'secret_access_key', label: texts.secretAccessKey, type: 'text' },
    ],
    canWatch: false,
  },
  website: {
    name: texts.website,
    fields: [
      {
        name: 'url',
        label: 'URL',
        type: 'url',
        hint: texts.theFirstPageLinksTo,
        placeholder: 'https://docs.example.com/guide/',
        isRequired: true,
      },
      {
        name: 'sitemap_url',
        label: texts.sitemap,
        type: 'url',
        hint: texts.itsPagesAreReadInstead,
      },
    ],
    moreFields: [
      { name: 'max_pages', label: texts.maximumNumberOfPages, type: 'number', placeholder: '1000' },
      { name: 'max_depth', label: texts.maximumNumberOfLinksTo, type: 'number', placeholder: '5' },
      { name: 'requests_per_second', label: texts.requestsPerSecond, type: 'number', placeholder: '2' },
      { name: 'main_content', label: texts.onlyTheMainContentOf, type: 'switch' },
    ],
    credentials: [authorization],
    canWatch: false,
  },
  rss: {
    name: texts.rssOrAtomFeed,
    fields: [
      {
        name: 'url',
        label: 'URL',
        type: 'url',
        placeholder: 'https://example.com/news.xml',
        isRequired: true,
      },
    ],
    moreFields: [
      {
        name: 'keep_removed',
        label: texts.keepEntriesThatAreNo,
        type: 'switch',
        isOnByDefault: true,
      },
    ],
    credentials: [authorization],
    canWatch: false,
  },
  git: {
    name: texts.gitRepository,
    fields: [
      {
        name: 'url',
        label: 'URL',
        type: 'url',
        hint: texts.theAddressForGitClone,
        placeholder: 'https://example.com/handbook.git',
        isRequired: true,
      },
      { name: 'branch', label: texts.branch, type: 'text', hint: texts.emptyTheDefaultBranch },
      { name: 'folder', label: texts.folder, type: 'text', hint: texts.emptyAllFiles, placeholder: 'docs' },
    ],
    moreFields: [
      { name: 'include_hidden', label: texts.includeNamesThatStartWith, type: 'switch' },
      { name: 'url_prefix', label: texts.urlPrefixOfTheFiles, type: 'url' },
    ],
    credentials: [username, password],
    canWatch: false,
  },
  webdav: {
    name: texts.webDAVFolder,
    fields: [
      {
        name: 'url',
        label: 'URL',
        type: 'url',
        hint: texts.theAddressOfAFolder,
        placeholder: 'https://cloud.example.com/remote.php/dav/files/ada/',
        isRequired: true,
      },
    ],
    moreFields: [{ name: 'include_hidden', label: texts.includeNamesThatStartWith, type: 'switch' }],
    credentials: [username, password],
    canWatch: false,
  },
  imap: {
    name: texts.mailAccountImap,
    fields: [
      { name: 'host', label: texts.host, type: 'text', placeholder: 'mail.example.com', isRequired: true },
      {
        name: 'mailbox',
        label: texts.mailbox,
        type: 'text',
        hint: texts.itIsReadWithThose,
        placeholder: 'INBOX',
      },
    ],
    moreFields: [
      { name: 'port', label: texts.port, type: 'number', placeholder: '993' },
      { name: 'tls', label: texts.encryptTheConnectionTls, type: 'switch', isOnByDefault: true },
    ],
    credentials: [username, password],
    canWatch: false,
  },
};

type SettingValue = string | number | boolean | null | undefined;

/** Settings of a source by name. */
export function settingsOf(source: SourceInfo): Readonly<Record<string, SettingValue>> {
  return (source[source.kind] ?? {}) as Readonly<Record<string, SettingValue>>;
}

/** Address of the origin: its folder, bucket or URL. */
export function originOf(source: SourceInfo): string {
  const [first] = sourceKindDescriptions[source.kind].fields;
  return String(settingsOf(source)[first?.name ?? ''] ?? '');
}

/** Names and values of the settings that are set. */
export function describeSettings(source: SourceInfo): (readonly [label: string, value: string])[] {
  const { fields, moreFields } = sourceKindDescriptions[source.kind];
  const settings = settingsOf(source);
  return [...fields, ...moreFields].flatMap(({ name, label }): (readonly [string, string])[] => {
    const value = settings[name];
    if (value === undefined || value === null || value === '') return [];
    return [[label, typeof value === 'boolean' ? (value ? texts.yes : texts.no) : String(value)]];
  });
}

/** Values of a form by name of the field. */
export type SourceFormValues = Readonly<Record<string, string | boolean>>;

export function formValuesOf(kind: SourceKind, source: SourceInfo | null): SourceFormValues {
  const { fields, moreFields } = sourceKindDescriptions[kind];
  const settings = source === null ? {} : settingsOf(source);
  return Object.fromEntries(
    [...fields, ...moreFields].map(({ name, type, isOnByDefault = false }) => {
      const value = settings[name];
      return [name, type === 'switch' ? Boolean(value ?? isOnByDefault) : String(value ?? '')];
    }),
  );
}

/** Settings for a request; empty fields are left out, so that their defaults apply. */
export function toSettings(kind: SourceKind, values: SourceFormValues): object {
  const { fields, moreFields } = sourceKindDescriptions[kind];
  return Object.fromEntries(
    [...fields, ...moreFields].flatMap(({ name, type }): (readonly [string, unknown])[] => {
      const value = values[name];
      if (type === 'switch') return [[name, value === true]];
      const text = String(value ?? '').trim();
      if (text === '') return [];
      return [[name, type === 'number' ? Number(text) : text]];
    }),
  );
}

/** Credentials for a request; null if no field is filled in. */
export function toCredentials(
  kind: SourceKind,
  values: Readonly<Record<string, string>>,
): Record<string, string> | null {
  const filled = sourceKindDescriptions[kind].credentials.flatMap(({ name }) => {
    const text = (values[name] ?? '').trim();
    return text === '' ? [] : [[name, text] as const];
  });
  return filled.length === 0 ? null : Object.fromEntries(filled);
}
