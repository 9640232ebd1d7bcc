import type { ServerResponse } from 'node:http';
import { sourceLimits } from '../../src/core/source-limits.ts';
import { PinnedConnections } from '../../src/egress/pinned-connections.ts';
import type { SourceChange } from '../../src/sources/source.ts';
import { readMultistatus } from '../../src/sources/webdav/multistatus.ts';
import { WebDavClient } from '../../src/sources/webdav/webdav-client.ts';
import { WebDavSource } from '../../src/sources/webdav/webdav-source.ts';
import { type DavStyle, nextcloudStyle, WebDavOrigin } from '../e2e/webdav-origin.ts';
import t, { type Test } from '../support/tap.ts';

const { signal } = new AbortController();
const keys = ['a.txt', 'b (1) ~x.txt', 'deep/c+d.txt', 'deep/é #?.txt', 'deep/er/100 %.txt'];

async function openSource(t: Test) {
  const origin = await WebDavOrigin.start();
  t.teardown(() => origin.close());
  const connections = new PinnedConnections({
    mode: 'configured',
    hosts: [],
    privateHosts: [origin.host],
    settingNames: { hosts: 'QUARRY_SOURCE_HOSTS', privateHosts: 'QUARRY_SOURCE_PRIVATE_HOSTS' },
  });
  t.teardown(() => connections.close());
  const client = new WebDavClient({ connections, credentials: null });
  const open = (url: string) =>
    new WebDavSource({ url: new URL(url), includesHidden: false, client, clock: { now: () => Date.now() } });
  const list = async (url = origin.url) => {
    const changes: SourceChange[] = [];
    for await (const change of open(url).listChanges(null, signal)) changes.push(change);
    return changes;
  };
  for (const key of keys) await origin.write(key, `content of ${key}`);
  return { origin, list, open };
}

const keysOf = (changes: readonly SourceChange[]) =>
  changes.map((change) => (change.type === 'item' ? change.item.key : '')).sort();

const toUpperHex = (name: string) =>
  [...Buffer.from(name)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');

t.test('servers may write addresses, namespaces and properties in different ways', async (t) => {
  const { origin, list, open } = await openSource(t);
  const styles: Readonly<Record<string, Partial<DavStyle>>> = {
    Nextcloud: {},
    'absolute URLs': { base: `http://${origin.host}` },
    'URLs of another host': { base: 'https://internal.example:8443', prefix: 'D:' },
    'a default namespace': { prefix: '' },
    'no slashes, other encoding': { hasSlashes: false, encode: toUpperHex },
    'lower case': { encode: (name) => toUpperHex(name).toLowerCase() },
    'no ETags': { hasEtags: false },
    'no ETags and times': { hasEtags: false, hasTimes: false },
  };
  for (const [name, style] of Object.entries(styles)) {
    origin.style = { ...nextcloudStyle, ...style };
    const changes = await list();
    t.strictSame(keysOf(changes), [...keys].sort(), name);
    for (const item of changes.flatMap((change) => (change.type === 'item' ? [change.item] : []))) {
      const { key, version } = item;
      t.equal(version === '', style.hasTimes === false, `${name}: ${version}`);
      const source = open(origin.url);
      let text = '';
      for await (const part of (await source.read(item, signal))!.bytes) text += String(part);
      t.equal(text, `content of ${key}`);
      t.ok(await source.exists(key, signal));
    }
  }
  t.notOk(await open(origin.url).exists('deep/none.txt', signal));
  t.notOk(await open(origin.url).exists('deep', signal), 'a folder has replaced the file');
  t.equal(await open(origin.url).read({ key: 'none', version: '', metadata: {} }, signal), null);
});

t.test('a file without an ETag that changed in the last seconds is read again', async (t) => {
  const { origin, list } = await openSource(t);
  origin.style = { ...nextcloudStyle, hasEtags: false };
  origin.files.set('a.txt', { content: 'new', etag: '', modifiedAt: new Date() });
  const versions = new Map(
    (await list()).map((change) =>
      change.type === 'item' ? [change.item.key, change.item.version] : ['', ''],
    ),
  );
  t.equal(versions.get('a.txt'), '');
  t.not(versions.get('deep/c+d.txt'), '');
});

t.test('a listing that is not complete or not of the folder is an error', async (t) => {
  const { origin, list } = await openSource(t);
  const send = (change: (xml: string) => string) => (response: ServerResponse, xml: string) =>
    void response.writeHead(207, { 'content-type': 'application/xml' }).end(change(xml));
  const path = new URL(origin.url).pathname;
  const failures: readonly (readonly [(response: ServerResponse, xml: string) => void, RegExp])[] = [
    [send((xml) => xml.slice(0, -20)), /not a complete WebDAV listing/],
    [send((xml) => xml.slice(0, xml.length / 2)), /not a complete WebDAV listing/],
    [send(() => '<html><p>Sign in</p></html>'), /not a complete WebDAV listing/],
    [send(() => '<d:multistatus xmlns:d="DAV:"></d:multistatus>'), /does not contain the folder/],
    [send((xml) => xml.replaceAll('/remote.php/dav', '/proxy')), /is not in this folder/],
    [send((xml) => xml.replace('a.txt', 'x/y/a.txt')), /is not in this folder/],
    [send((xml) => xml.replace('a.txt', '../a.txt')), /is not in this folder/],
    [
      send((xml) =>
        xml.replace(
          '</d:multistatus>',
          `<d:response><d:href>${path}</d:href><d:status>HTTP/1.1 507 Insufficient Storage</d:status></d:response></d:multistatus>`,
        ),
      ),
      /has the status 507/,
    ],
    [
      (response, xml) => {
        response.writeHead(207, { 'content-length': xml.length * 2 });
        response.write(xml, () => response.destroy());
      },
      /The listing of .* failed/,
    ],
    [(response) => void response.writeHead(302, { location: '/login' }).end(), /redirects to \/login/],
    [(response) => void response.end('<html></html>'), /does not support WebDAV/],
    [(response) => endless(response), /has more than 33554432 bytes/],
  ];
  for (const [reply, message] of failures) {
    origin.replies.set('', reply);
    await t.rejects(list(), { name: 'AppError', message });
  }
  origin.replies.clear();
  origin.replies.set(
    'deep/',
    send((xml) => xml.slice(0, -20)),
  );
  const changes = await list();
  t.match(
    changes.filter(({ type }) => type === 'unlisted'),
    [{ key: 'deep/', isPrefix: true, reason: /not a complete/ }],
  );
  t.match(keysOf(changes), ['', 'a.txt', 'b (1) ~x.txt']);
});

/** Sends a listing without an end. */
function endless(response: ServerResponse): void {
  response.writeHead(207);
  const send = () => {
    while (!response.destroyed) if (!response.write(' '.repeat(1_000_000))) return;
  };
  response.on('drain', send).on('error', () => {});
  response.write('<d:multistatus xmlns:d="DAV:">');
  send();
}

t.test('names that cannot be paths, and resources with a status, are reported', async (t) => {
  const { origin, list } = await openSource(t);
  const path = new URL(origin.url).pathname;
  const resource = (name: string, rest: string) =>
    `<d:response><d:href>${path}${name}</d:href>${rest}</d:response>`;
  const file =
    '<d:propstat><d:prop><d:resourcetype/></d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat>';
  const folder = file.replace('<d:resourcetype/>', '<d:resourcetype><d:collection/></d:resourcetype>');
  const added = [
    resource('caf%E9.txt', file),
    resource('a%2Fb.txt', file),
    resource('a%00b.txt', file),
    resource('b%E9/', folder),
    resource('secret', '<d:status>HTTP/1.1 403 Forbidden</d:status>'),
  ];
  origin.replies.set('', (response, xml) =>
    response.writeHead(207).end(xml.replace('</d:multistatus>', `${added.join('')}</d:multistatus>`)),
  );
  const changes = await list();
  t.strictSame(changes.flatMap((change) => (change.type === 'unlisted' ? [change.key] : [])).sort(), [
    'a%00b.txt',
    'a%2Fb.txt',
    'b%E9/',
    'caf%E9.txt',
    'secret',
  ]);
  t.equal(keysOf(changes).filter((key) => key !== '').length, keys.length, 'the others are listed');
});

t.test('the number of folders and their depth have limits', async (t) => {
  const { origin, list } = await openSource(t);
  await origin.write(`${'x/'.repeat(sourceLimits.davDepthMax + 5)}a.txt`, 'deep');
  const changes = await list();
  t.match(
    changes.filter(({ type }) => type === 'unlisted'),
    [{ reason: /more than 64 levels deep/ }],
  );
  for (let i = 0; i < sourceLimits.davFoldersMax; i += 1) await origin.write(`${i}/a.txt`, '');
  await t.rejects(list(), { code: 'bad_request', message: /more than 20000 folders/ });
});

t.test('a canceled listing rejects with the reason of its signal', async (t) => {
  const { origin, open } = await openSource(t);
  const controller = new AbortController();
  origin.replies.set('', () => controller.abort(new Error('stopped')));
  await t.rejects(open(origin.url).listChanges(null, controller.signal).next(), /stopped/);
});

t.test('properties of other namespaces and without a value are ignored', async (t) => {
  async function* parts(xml: string) {
    for (const character of xml) yield character;
  }
  const xml =
    '<?xml version="1.0"?><multistatus xmlns="DAV:" xmlns:o="x"><response><href><![CDATA[/a&b]]></href><propstat><prop><getetag/><o:size>3</o:size><getlastmodified>never</getlastmodified></prop><status>HTTP/1.1 200 OK</status></propstat><propstat><status>HTTP/1.1 404 Not Found</status><prop><getcontentlength>7</getcontentlength></prop></propstat></response></multistatus>';
  t.strictSame(await readMultistatus(parts(xml)), [
    { href: '/a&b', status: 200, isFolder: false, etag: null, modifiedAt: null, size: null },
  ]);
});
