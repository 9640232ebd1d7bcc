import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { S3Emulator } from '../support/s3-emulator.ts';
import { rootTest } from '../support/tap.ts';
import { createCollection } from './documents-fixture.ts';
import { GitOrigin, gitSkipReason } from './git-origin.ts';
import { ImapOrigin } from './imap-origin.ts';
import { TestServer } from './server.ts';
import { hashesOf, sha256, type TestOrigin } from './source-fixture.ts';
import type { FollowedOrigin } from './source-rounds.ts';
import { createTenant, type Tenant } from './tenant.ts';
import { WebOrigin } from './web-origin.ts';
import { WebDavOrigin } from './webdav-origin.ts';
import { WebhookReceiver } from './webhook-receiver.ts';

/** Server that reads sources and sends webhooks, the origins that it may read, and the receiver that it may call. */
export interface SourceServer {
  readonly server: TestServer;
  /** Folder below which sources of the kind `directory` may be. */
  readonly folder: string;
  readonly web: WebOrigin;
  /** Another website, of which a source follows the feed. */
  readonly feed: WebOrigin;
  readonly s3: S3Emulator;
  readonly webdav: WebDavOrigin;
  readonly imap: ImapOrigin;
  /** null if there is no Git on this machine. */
  readonly git: GitOrigin | null;
  readonly webhooks: WebhookReceiver;
}

/** Port at which the server may call webhooks, but no process listens. */
export const refusedPort = 9;

let started: Promise<SourceServer> | null = null;

/**
 * Joins the server of this process that reads sources and sends webhooks as a new organization. Like `joinSharedServer`,
 * for files that run several per process; the origins are shared too.
 */
export async function joinSourceServer(): Promise<SourceServer & Tenant> {
  started ??= startSourceServer();
  const joined = await started;
  return { ...joined, ...(await createTenant(joined.server)) };
}

async function startSourceServer(): Promise<SourceServer> {
  const folder = mkdtempSync(join(tmpdir(), 'quarry-source-'));
  const [web, feed] = [await WebOrigin.start(), await WebOrigin.start()];
  const s3 = await S3Emulator.start();
  const [webdav, imap] = [await WebDavOrigin.start(), await ImapOrigin.start()];
  const git = gitSkipReason === false ? await GitOrigin.start() : null;
  rootTest.teardown(() => {
    rmSync(folder, { recursive: true, force: true });
    for (const origin of [web, feed, s3, webdav, imap, git]) origin?.close();
  });
  const always = [web.host, feed.host, webdav.host, imap.host, new URL(s3.url).host];
  const hosts = [...always, ...(git === null ? [] : [git.host])];
  const webhooks = await WebhookReceiver.start(rootTest);
  const server = await TestServer.start(rootTest, {
    SOURCE_FOLDERS: folder,
    SOURCE_PRIVATE_HOSTS: hosts.join(),
    WEBHOOK_PRIVATE_HOSTS: `127.0.0.1:${refusedPort},127.0.0.1:${webhooks.port}`,
  });
  return { server, folder, web, feed, s3, webdav, imap, git, webhooks };
}

/** Adds a collection and a source of the same name, which runs on request only. `settings`: of its kind, and others. */
export async function addSource(
  { api }: Pick<Tenant, 'api'>,
  name: string,
  settings: Readonly<Record<string, unknown>>,
): Promise<void> {
  await createCollection(api, name);
  const request = { source_name: name, collection_name: name, schedule: 'off', ...settings };
  await api.call('sources/add-source', request);
}

type Joined = SourceServer & Tenant;

/** Adds a source for a new folder. */
export async function followFolder(joined: Joined, name: string): Promise<FollowedOrigin> {
  const folder = join(joined.folder, name);
  mkdirSync(folder);
  await addSource(joined, name, { directory: { path: folder }, prefix: 'r/' });
  const write = (key: string, content: string) => {
    mkdirSync(dirname(join(folder, key)), { recursive: true });
    writeFileSync(join(folder, key), content);
  };
  const origin: TestOrigin = {
    write: async (key, content) => write(key, content),
    rename: async (from, to) => {
      mkdirSync(dirname(join(folder, to)), { recursive: true });
      renameSync(join(folder, from), join(folder, to));
    },
    delete: async (key) => rmSync(join(folder, key)),
  };
  return { name, origin, listExpected: (model) => hashesOf(model, 'r/') };
}

/** Adds a source for the objects below a prefix. */
export async function followBucket(joined: Joined, name: string): Promise<FollowedOrigin> {
  const { s3 } = joined;
  await addSource(joined, name, {
    s3: { bucket: s3.bucket, endpoint: s3.url, key_prefix: `${name}/` },
    credentials: { access_key_id: s3.accessKeyId, secret_access_key: 'secret' },
  });
  const put = (key: string, body: Buffer) =>
    void s3.objects.set(`${name}/${key}`, { body, modifiedAt: new Date() });
  const origin: TestOrigin = {
    write: async (key, content) => put(key, Buffer.from(content)),
    rename: async (from, to) => {
      put(to, s3.objects.get(`${name}/${from}`)!.body);
      s3.objects.delete(`${name}/${from}`);
    },
    delete: async (key) => void s3.objects.delete(`${name}/${key}`),
  };
  return { name, origin };
}

/** Adds a source for all pages of a website. */
export async function followWebsite(joined: Joined, name: string): Promise<FollowedOrigin> {
  const { web } = joined;
  await addSource(joined, name, { website: { url: web.url, requests_per_second: 20 } });
  return {
    name,
    origin: web,
    listExpected: (model) => hashesOf(model).set('index.html', sha256(web.index)),
  };
}

/** Adds a source for all files of the WebDAV server. */
export async function followWebDav(joined: Joined, name: string): Promise<FollowedOrigin> {
  const { webdav } = joined;
  await addSource(joined, name, { webdav: { url: webdav.url } });
  return { name, origin: webdav };
}

/** Adds a source for all messages of the mail account. Their keys are their IDs. */
export async function followMail(joined: Joined, name: string): Promise<FollowedOrigin> {
  const { imap, api } = joined;
  await addSource(joined, name, {
    imap: { host: '127.0.0.1', port: imap.port, tls: false },
    credentials: { username: imap.username, password: imap.password },
  });
  return {
    name,
    origin: imap,
    listActual: async () => {
      const { documents } = await api.call('documents/get-document-info-list', { collection_name: name });
      return new Map(
        documents.map((document) => {
          const { metadata, sha256: hash } = document as typeof document & { sha256?: string };
          return [String(metadata.source_message_id), hash ?? ''];
        }),
      );
    },
    listExpected: (model) =>
      new Map([...model].map(([key, content]) => [key, sha256(ImapOrigin.render(key, content))])),
  };
}

/** Adds a source for the repository. */
export async function followRepository(
  joined: Joined,
  name: string,
  git: GitOrigin,
): Promise<FollowedOrigin> {
  await addSource(joined, name, { git: { url: git.url } });
  return { name, origin: git };
}

/** Adds a source for the feed of a website. */
export async function followFeed(joined: Joined, name: string): Promise<FollowedOrigin> {
  const { feed } = joined;
  await addSource(joined, name, { rss: { url: `${feed.url}feed.xml`, keep_removed: false } });
  const html = (key: string, content: string) =>
    `<!doctype html>\n<html><head><meta charset="utf-8"><title>${key}</title></head>\n<body><h1>${key}</h1>\n${content}</body></html>\n`;
  return {
    name,
    origin: feed,
    listActual: async () => {
      const request = { collection_name: name };
      const { documents } = await joined.api.call('documents/get-document-info-list', request);
      return new Map(
        documents.map((document) => {
          const { metadata, sha256: hash } = document as typeof document & { sha256?: string };
          return [String(metadata.source_url).slice(feed.url.length), hash ?? ''];
        }),
      );
    },
    listExpected: (model) => new Map([...model].map(([key, content]) => [key, sha256(html(key, content))])),
  };
}
