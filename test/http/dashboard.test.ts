import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { Dashboard, readBuiltFiles } from '../../src/http/dashboard.ts';
import { serverContract } from './server-contract.ts';

/** Static files of the dashboard as a browser requests them. */

const page =
  '<!doctype html><title>Quarry</title><script type="module" src="/assets/index-AAAA.js"></script>';
const script = `export const words = '${'the same words again and again '.repeat(60)}';`;
const font = new Uint8Array(3_000).map((_, i) => (i * 97) & 255);
const built: ReadonlyMap<string, Uint8Array> = new Map([
  ['index.html', Buffer.from(page)],
  ['assets/index-AAAA.js', Buffer.from(script)],
  ['assets/letters-BBBB.woff2', font],
]);
const script1 = '/assets/index-AAAA.js';

serverContract(
  'every path below /app/ returns the page, which is revalidated each time',
  async ({ t, open, connect }) => {
    const server = await open({ dashboard: new Dashboard(built), settings: { home: '/app/' } });
    for (const path of ['/app/', '/app/collections/a%2Fb/documents', '/app/sign-in?problem=link', '/app//']) {
      const reply = await fetch(`${server.url}${path}`);
      t.equal(reply.status, 200, path);
      t.equal(await reply.text(), page);
      const { headers } = reply;
      t.equal(headers.get('content-type'), 'text/html; charset=utf-8');
      t.equal(headers.get('cache-control'), 'no-cache');
      t.equal(headers.get('x-content-type-options'), 'nosniff');
      t.equal(headers.get('referrer-policy'), 'no-referrer');
      const policy = headers.get('content-security-policy') ?? '';
      for (const rule of [
        "default-src 'self'",
        "frame-ancestors 'none'",
        "object-src 'none'",
        "base-uri 'none'",
      ])
        t.ok(policy.split('; ').includes(rule), rule);
      t.notMatch(policy, /unsafe|script-src|\*/);
      const again = await fetch(`${server.url}${path}`, {
        headers: { 'if-none-match': headers.get('etag') ?? '' },
      });
      t.equal(again.status, 304);
      t.equal(await again.text(), '');
    }
    for (const path of ['/', '/app']) {
      const entry = await fetch(`${server.url}${path}`, { redirect: 'manual' });
      t.match([entry.status, entry.headers.get('location')], [302, '/app/']);
    }
    const client = await connect(server);
    client.sendHead('GET', '/app/');
    const get = await client.readReply();
    client.sendHead('HEAD', '/app/');
    const head = await client.readReply({ hasBody: false });
    t.same([head.status, head.headers.get('content-length')], [200, String(get.body.length)]);
    t.equal((await fetch(`${server.url}/app/`, { method: 'POST' })).status, 405);
  },
);

serverContract(
  'files with hashed names are cached permanently, in the smallest encoding that the browser accepts',
  async ({ t, open, connect }) => {
    const server = await open({ dashboard: new Dashboard(built) });
    const client = await connect(server);
    const get = async (path: string, headers: Record<string, string> = {}) => {
      client.sendHead('GET', path, headers);
      return client.readReply();
    };
    const plain = await get(script1);
    t.equal(plain.body.toString(), script);
    t.equal(plain.headers.get('content-type'), 'text/javascript; charset=utf-8');
    t.equal(plain.headers.get('cache-control'), 'public, max-age=31536000, immutable');
    t.equal(plain.headers.get('vary'), 'accept-encoding');
    t.equal(plain.headers.get('x-content-type-options'), 'nosniff');
    const wished = [
      ['gzip, deflate, br, zstd', 'br'],
      ['gzip;q=1.0, br;q=0', 'gzip'],
      ['GZIP', 'gzip'],
      ['br;q=0.000, gzip; q=0', undefined],
      ['identity', undefined],
    ] as const;
    const tags = new Set([plain.headers.get('etag')]);
    for (const [accepted, encoding] of wished) {
      const reply = await get(script1, { 'accept-encoding': accepted });
      t.equal(reply.headers.get('content-encoding'), encoding, accepted);
      const body =
        encoding === 'br'
          ? brotliDecompressSync(reply.body)
          : encoding === 'gzip'
            ? gunzipSync(reply.body)
            : reply.body;
      t.equal(body.toString(), script);
      if (encoding !== undefined)
        t.ok(reply.body.length < script.length / 5, `${accepted}: ${reply.body.length} bytes`);
      tags.add(reply.headers.get('etag'));
    }
    t.equal(tags.size, 3, 'each encoding has its own ETag');
    const letters = await get('/assets/letters-BBBB.woff2', { 'accept-encoding': 'br' });
    t.same(
      [letters.headers.get('content-type'), letters.headers.get('content-encoding')],
      ['font/woff2', undefined],
    );
    t.same(new Uint8Array(letters.body), font);
  },
);

serverContract('only built files are available under /assets/', async ({ t, open, connect }) => {
  const server = await open({ dashboard: new Dashboard(built) });
  const client = await connect(server);
  for (const name of [
    '',
    'nothing.js',
    '../index.html',
    '..%2Findex.html',
    '%2e%2e%2findex.html',
    '..\\index.html',
    '..%5cindex.html',
    '....//index.html',
    'index-AAAA.js%00',
    'index-AAAA.js/',
    '%2Fetc%2Fpasswd',
    '__proto__',
    'constructor',
  ]) {
    client.sendHead('GET', `/assets/${name}`);
    const reply = await client.readReply();
    t.equal(reply.status, 404, name);
    t.notMatch(reply.body.toString(), /doctype|root:/);
  }
});

serverContract(
  'without a build the page explains how to create one, and everything else works',
  async ({ t, open }) => {
    const server = await open();
    const reply = await fetch(`${server.url}/app/`);
    t.equal(reply.status, 503);
    t.match(await reply.text(), /not built.*npm run build/s);
    t.match(reply.headers.get('content-security-policy'), /frame-ancestors 'none'/);
    t.equal((await fetch(`${server.url}${script1}`)).status, 404);
    t.equal((await fetch(`${server.url}/healthz`)).status, 200);
  },
);

serverContract('a browser gets errors as HTML pages', async ({ t, open }) => {
  const server = await open();
  const accept = 'text/html,application/xhtml+xml,*/*;q=0.8';
  const address = `${server.url}/nowhere/<img src=x onerror=alert(1)>`;
  const errorPage = await fetch(address, { headers: { accept } });
  t.equal(errorPage.status, 404);
  t.equal(errorPage.headers.get('content-type'), 'text/html; charset=utf-8');
  t.match(errorPage.headers.get('content-security-policy'), /default-src 'none'.*frame-ancestors 'none'/);
  const html = await errorPage.text();
  t.match(html, /<h1>Page not found<\/h1>.*href="\/app\/"/s);
  t.notMatch(html, /<script|onerror/);
  t.same(await (await fetch(address)).json(), {
    detail: 'The requested path does not exist. See /docs for all operations.',
  });
});

serverContract('a build is read from its folder, regardless of the file names', async ({ t, open }) => {
  const folder = mkdtempSync(join(tmpdir(), 'quarry-built-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'assets', 'deep'), { recursive: true });
  writeFileSync(join(folder, 'index.html'), page);
  writeFileSync(join(folder, 'assets', 'a-1.css'), 'a{color:red}');
  writeFileSync(join(folder, 'assets', 'deep', 'b-1.css'), 'b{color:red}');
  const server = await open({ dashboard: new Dashboard(readBuiltFiles(folder)) });
  const css = await fetch(`${server.url}/assets/a-1.css`);
  t.same([css.headers.get('content-type'), await css.text()], ['text/css; charset=utf-8', 'a{color:red}']);
  t.equal(await (await fetch(`${server.url}/app/`)).text(), page);
  t.equal(readBuiltFiles(join(folder, 'nothing')).size, 0);
});
