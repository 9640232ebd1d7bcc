import { gzipSync } from 'node:zlib';
import { sourceLimits } from '../../src/core/source-limits.ts';
import { readFeed, readPageLinks, readSitemap } from '../../src/sources/web/markup.ts';
import { isAllowedByRobots, parseRobots } from '../../src/sources/web/robots.ts';
import { unpack } from '../../src/sources/web/unpack.ts';
import t from '../support/tap.ts';

t.test('the rules of robots.txt for this crawler are found, and the longest one decides', async (t) => {
  const robots = parseRobots(
    'User-agent: other\nDisallow: /\n\nuser-agent: Quarry\nUser-agent: second\nDisallow: /a # comment\nAllow: /a/b\nDisallow: /*.pdf$\nCrawl-delay: 1.5\n\nUser-agent: *\nDisallow: /x\nSitemap: https://example.com/s.xml',
  );
  t.equal(robots.crawlDelayMs, 1_500);
  t.strictSame(robots.sitemaps, ['https://example.com/s.xml']);
  const expected: [string, boolean][] = [
    ...([
      ['/', true],
      ['/a', false],
      ['/abc', false],
      ['/a/b/c', true],
    ] as [string, boolean][]),
    ...([
      ['/f.pdf', false],
      ['/f.pdf?x', true],
      ['/x', true],
    ] as [string, boolean][]),
  ];
  for (const [path, isAllowed] of expected) t.equal(isAllowedByRobots(robots, path), isAllowed, path);
  t.ok(isAllowedByRobots(parseRobots('Disallow: /'), '/'), 'a rule without an agent has no effect');
  t.notOk(isAllowedByRobots(parseRobots('User-agent: *\nDisallow: /'), '/a'));
  t.ok(isAllowedByRobots(parseRobots('User-agent: *\nDisallow:'), '/a'));
});

t.test('links and directives of a page', async (t) => {
  const html =
    '<base href="/docs/"><a href="a#x">a</a><a href="/b?c=1&amp;d=2">b</a><a rel="nofollow" href="c">c</a><meta name="ROBOTS" content="NoIndex, follow"><a href="http://[">bad</a>';
  const { links, directives } = await readPageLinks(html, new URL('https://example.com/x/y'));
  t.strictSame(links, ['https://example.com/docs/a#x', 'https://example.com/b?c=1&d=2']);
  t.ok(directives.has('noindex'));
});

t.test('sitemaps and their indexes', async (t) => {
  const pages = '<urlset xmlns="x"><url><loc> https://example.com/a?b=1&amp;c </loc></url></urlset>';
  t.strictSame(await readSitemap(pages), { pages: ['https://example.com/a?b=1&c'], sitemaps: [] });
  const index = '<sitemapindex><sitemap><loc>https://example.com/s</loc></sitemap></sitemapindex>';
  t.strictSame(await readSitemap(index), { pages: [], sitemaps: ['https://example.com/s'] });
});

t.test('entries of RSS, RDF and Atom', async (t) => {
  const rss =
    '<rss><channel><title>Feed</title><item><guid>1</guid><title>A &amp; B</title><link>https://e.com/1</link><description>short</description><content:encoded><![CDATA[<p>long</p>]]></content:encoded><pubDate>Tue, 24 Nov 2026 10:00:00 GMT</pubDate></item></channel></rss>';
  t.match(await readFeed(rss), [
    {
      id: '1',
      title: 'A & B',
      link: 'https://e.com/1',
      content: '<p>long</p>',
      modifiedAt: '2026-11-24T10:00:00.000Z',
    },
  ]);
  const atom =
    '<feed xmlns="a"><title>Feed</title><entry><id>2</id><title>T</title><link rel="self" href="https://e.com/self"/><link href="https://e.com/2"/><updated>2026-11-24T10:00:00Z</updated><content type="xhtml"><div><p>long</p></div></content></entry></feed>';
  t.match(await readFeed(atom), [{ id: '2', title: 'T', link: 'https://e.com/2', content: /long/ }]);
  const rdf =
    '<rdf:RDF><item><title>X</title><link>https://e.com/3</link><dc:date>bad</dc:date></item></rdf:RDF>';
  t.match(await readFeed(rdf), [{ id: 'https://e.com/3', modifiedAt: null }]);
  t.equal(await readFeed('<html><p>no feed</p></html>'), null);
  await t.rejects(readFeed('<a>'.repeat(1_000)), /more than 64 levels/);
});

t.test('a compressed file is unpacked up to the limit of a page', async (t) => {
  const url = new URL('https://example.com/sitemap.xml.gz');
  const replyWith = (body: Buffer) => ({ status: 200, headers: {}, body });
  const plain = replyWith(Buffer.from('<urlset/>'));
  t.equal(await unpack(plain, url), plain);
  const packed = gzipSync('<urlset/>');
  t.equal((await unpack(replyWith(packed), url)).body.toString(), '<urlset/>');
  await t.rejects(unpack(replyWith(packed.subarray(0, 20)), url), /is not a complete gzip file/);
  const large = gzipSync(Buffer.alloc(sourceLimits.pageBytesMax + 1));
  await t.rejects(unpack(replyWith(large), url), /has more than 10000000 bytes/);
});
