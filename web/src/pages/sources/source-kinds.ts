import type { SourceInfo, SourceKind } from '../../server/sources.ts';

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
  label: 'Authorization header',
  type: 'text',
  placeholder: 'Bearer …',
};

const username: SourceField = { name: 'username', label: 'User name', type: 'text' };
const password: SourceField = { name: 'password', label: 'Password or token', type: 'text' };

export const sourceKindDescriptions: Readonly<Record<SourceKind, SourceKindDescription>> = {
  directory: {
    name: 'Folder',
    fields: [
      {
        name: 'path',
        label: 'Path',
        type: 'text',
        hint: 'A folder on the server that the operator allows.',
        placeholder: '/srv/handbook',
        isRequired: true,
      },
    ],
    moreFields: [
      { name: 'include_hidden', label: 'Include names that start with a dot', type: 'switch' },
      { name: 'url_prefix', label: 'URL prefix of the files', type: 'url' },
    ],
    credentials: [],
    canWatch: true,
  },
  s3: {
    name: 'S3 bucket',
    fields: [
      { name: 'bucket', label: 'Bucket', type: 'text', placeholder: 'reports', isRequired: true },
      { name: 'key_prefix', label: 'Key prefix', type: 'text', placeholder: '2026/' },
      { name: 'region', label: 'Region', type: 'text', placeholder: 'us-east-1' },
    ],
    moreFields: [
      { name: 'endpoint', label: 'Endpoint of a compatible store', type: 'url' },
      { name: 'include_tags', label: 'Store the tags of objects as metadata', type: 'switch' },
    ],
    credentials: [
      { name: 'access_key_id', label: 'Access key ID', type: 'text' },
      { name: 'secret_access_key', label: 'Secret access key', type: 'text' },
    ],
    canWatch: false,
  },
  website: {
    name: 'Website',
    fields: [
      {
        name: 'url',
        label: 'URL',
        type: 'url',
        hint: 'The first page. Links to pages in its folder are followed.',
        placeholder: 'https://docs.example.com/guide/',
        isRequired: true,
      },
      {
        name: 'sitemap_url',
        label: 'Sitemap',
        type: 'url',
        hint: 'Its pages are read instead of following links.',
      },
    ],
    moreFields: [
      { name: 'max_pages', label: 'Maximum number of pages', type: 'number', placeholder: '1000' },
      { name: 'max_depth', label: 'Maximum number of links to a page', type: 'number', placeholder: '5' },
      { name: 'requests_per_second', label: 'Requests per second', type: 'number', placeholder: '2' },
      { name: 'main_content', label: 'Only the main content of pages', type: 'switch' },
    ],
    credentials: [authorization],
    canWatch: false,
  },
  rss: {
    name: 'RSS or Atom feed',
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
        label: 'Keep entries that are no longer in the feed',
        type: 'switch',
        isOnByDefault: true,
      },
    ],
    credentials: [authorization],
    canWatch: false,
  },
  git: {
    name: 'Git repository',
    fields: [
      {
        name: 'url',
        label: 'URL',
        type: 'url',
        hint: 'The address for git clone, with https://.',
        placeholder: 'https://example.com/handbook.git',
        isRequired: true,
      },
      { name: 'branch', label: 'Branch', type: 'text', hint: 'Empty: the default branch.' },
      { name: 'folder', label: 'Folder', type: 'text', hint: 'Empty: all files.', placeholder: 'docs' },
    ],
    moreFields: [
      { name: 'include_hidden', label: 'Include names that start with a dot', type: 'switch' },
      { name: 'url_prefix', label: 'URL prefix of the files', type: 'url' },
    ],
    credentials: [username, password],
    canWatch: false,
  },
  webdav: {
    name: 'WebDAV folder',
    fields: [
      {
        name: 'url',
        label: 'URL',
        type: 'url',
        hint: 'The address of a folder, for example of Nextcloud.',
        placeholder: 'https://cloud.example.com/remote.php/dav/files/ada/',
        isRequired: true,
      },
    ],
    moreFields: [{ name: 'include_hidden', label: 'Include names that start with a dot', type: 'switch' }],
    credentials: [username, password],
    canWatch: false,
  },
  imap: {
    name: 'Mail account (IMAP)',
    fields: [
      { name: 'host', label: 'Host', type: 'text', placeholder: 'mail.example.com', isRequired: true },
      {
        name: 'mailbox',
        label: 'Mailbox',
        type: 'text',
        hint: 'It is read with those below it. Empty: all without drafts, junk and trash.',
        placeholder: 'INBOX',
      },
    ],
    moreFields: [
      { name: 'port', label: 'Port', type: 'number', placeholder: '993' },
      { name: 'tls', label: 'Encrypt the connection (TLS)', type: 'switch', isOnByDefault: true },
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
    return [[label, typeof value === 'boolean' ? (value ? 'Yes' : 'No') : String(value)]];
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
