import { spawn } from 'node:child_process';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { adminKey, operatorKey, TestServer } from '../e2e/server.ts';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { findSampleReplies, findSamples, unescapeHtml } from './page-samples.ts';

/** The documentation that the real server serves at /docs. */

t.setTimeout(testFileMsMax);

interface OpenApiOperation {
  readonly operationId?: string;
  readonly tags?: readonly string[];
  readonly servers?: unknown;
  readonly security?: readonly unknown[];
  readonly requestBody?: {
    readonly content?: Readonly<Record<string, { readonly example?: unknown }>>;
  };
  readonly responses?: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: unknown }>> }>
  >;
}

interface OpenApiDocument {
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

const hrefsOf = (html: string) =>
  [...html.matchAll(/ href="([^"]+)"/g)].map(([, href = '']) => unescapeHtml(href));

interface Site {
  readonly server: TestServer;
  readonly get: (path: string) => Promise<Response>;
  /** HTML of every page, by address. */
  readonly pages: ReadonlyMap<string, string>;
}

/** Every page of the documentation that a link leads to, by address. */
async function readPages(t: Test, get: (path: string) => Promise<Response>): Promise<Map<string, string>> {
  const pages = new Map<string, string>();
  const waiting = ['/docs'];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (pages.has(path)) continue;
    const reply = await get(path);
    t.equal(reply.status, 200, path);
    t.equal(reply.headers.get('content-type'), 'text/html; charset=utf-8', path);
    t.match(reply.headers.get('content-security-policy'), /^default-src 'none'; style-src 'sha256-/, path);
    const html = await reply.text();
    pages.set(path, html);
    for (const href of hrefsOf(html)) {
      const [target = ''] = href.split('#');
      if (/^\/docs(\/|$)/.test(target)) waiting.push(target);
    }
  }
  return pages;
}

/** Runs a command of a page; returns the status of the reply. */
function runCurl(code: string, server: TestServer): Promise<number> {
  const command = code
    .replaceAll('http://127.0.0.1:8720', server.url)
    .replace('curl -s', 'curl -s -o /dev/null -w "%{http_code}"');
  const env = {
    PATH: process.env.PATH,
    QUARRY_API_KEY: operatorKey,
    QUARRY_ADMIN_KEY: adminKey,
    QUARRY_SESSION: 'zes_none',
  };
  const child = spawn('bash', ['-euo', 'pipefail', '-c', command], { env });
  let output = '';
  child.stdout.on('data', (part: Buffer) => {
    output += part.toString();
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => (code === 0 ? resolve(Number(output)) : reject(new Error(`exit ${code}`))));
  });
}

async function checkSidebar(t: Test, { pages }: Site): Promise<void> {
  for (const path of [
    'guides/getting-started',
    'operate/backup',
    'reference/cli',
    'glossary',
    'api/documents',
  ])
    t.ok(pages.has(`/docs/${path}`), path);
}

/** On narrow screens, each page shows its content first: the list of all pages is closed. */
async function checkContents(t: Test, { pages }: Site): Promise<void> {
  for (const [path, html] of pages) {
    const [, list = ''] = /<details class="contents">([\s\S]*?)<\/details>/.exec(html) ?? [];
    t.match(list, /^<summary>/, path);
    t.match(list, '<nav aria-label="Documentation">', path);
  }
  const guide = pages.get('/docs/operate/backup') ?? '';
  t.match(guide, /<nav class="outline"[^>]*>.*<a href="\/docs\/operate\/backup#/);
}

async function checkNoLoads(t: Test, { pages }: Site): Promise<void> {
  for (const [path, html] of pages)
    t.notMatch(
      html.replace(/<pre[\s\S]*?<\/pre>/g, ''),
      /<script|\bsrc=|<link|url\(|@import|\son\w+="/i,
      path,
    );
}

async function checkLinks(t: Test, { pages }: Site): Promise<void> {
  for (const [path, html] of pages) {
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    t.equal(new Set(ids).size, ids.length, `${path}: anchors are unique`);
    for (const href of hrefsOf(html)) {
      const [target = '', anchor] = href.split('#');
      if (/^https:/.test(target)) continue;
      if (!/^\/docs(\/|$)/.test(target)) t.match(target, /^\/(app\/|openapi\.json|api\/openapi\.json)/, href);
      else if (anchor !== undefined) t.ok(pages.get(target)?.includes(` id="${anchor}"`), `${path}: ${href}`);
    }
  }
}

async function checkOperations(t: Test, { get, pages }: Site): Promise<void> {
  for (const source of ['/openapi.json', '/api/openapi.json']) {
    const { paths, servers } = (await (await get(source)).json()) as OpenApiDocument;
    for (const [path, methods] of Object.entries(paths))
      for (const [method, { tags = [] }] of Object.entries(methods)) {
        if (path === '/') continue;
        const prefix = methods.servers === undefined ? (servers[0]?.url ?? '').replace(/\/$/, '') : '';
        if (method === 'servers') continue;
        const sections = (pages.get(`/docs/api/${tags[0]}`) ?? '').split('<section ');
        const section = sections.find((each) =>
          each.includes(
            `<span class="method ${method}">${method.toUpperCase()}</span> ${prefix}${path}</code>`,
          ),
        );
        for (const language of ['curl', 'Node', 'Python'])
          t.ok(section?.includes(`<summary>${language}</summary><pre`), `${method} ${path}: ${language}`);
      }
  }
}

/** "Try it" leads to the console of the dashboard, which knows each of its operations from the OpenAPI documents. */
async function checkTryLinks(t: Test, { get, pages }: Site): Promise<void> {
  const published = new Set<string>();
  for (const source of ['/openapi.json', '/api/openapi.json']) {
    const { paths } = (await (await get(source)).json()) as OpenApiDocument;
    for (const { get: read, post } of Object.values(paths)) {
      const hasExample = post?.requestBody?.content?.['application/json']?.example !== undefined;
      for (const operation of [read, hasExample ? post : undefined]) {
        if (operation === undefined || operation.security?.length === 0) continue;
        if (operation.operationId !== 'mcp') published.add(operation.operationId?.replaceAll('_', '-') ?? '');
      }
    }
  }
  const sections = [...pages.values()].flatMap((html) => html.split('<section id="').slice(1));
  const linked = sections.flatMap((section) => {
    const operation = / href="\/app\/console\?operation=([^"]+)">Try it</.exec(section)?.[1];
    if (operation === undefined) return [];
    t.ok(section.startsWith(`${operation}"`), operation);
    return [operation];
  });
  t.same(linked.sort(), [...published].sort());
  t.ok(linked.length > 80, `${linked.length} operations can be tried`);
}

/** Text of all pages, without markup. */
function readAll(pages: Site['pages']): string {
  return [...pages.values()].map((html) => unescapeHtml(html.replace(/<[^>]+>/g, ''))).join('\n');
}

async function checkSearch(t: Test, { get, pages }: Site): Promise<void> {
  for (const word of ['backup', 'Backups']) {
    const html = await (await get(`/docs/search?q=${word}`)).text();
    const found = [...html.matchAll(/<li><a href="([^"]+)">[^<]+<\/a><p/g)].map(([, href]) => href);
    t.match(found[0], /backup/, word);
    t.ok(
      found.slice(0, 10).some((href) => href?.startsWith('/docs/operate/backup#')),
      word,
    );
  }
  const excerpts = [
    ...(await (await get('/docs/search?q=backup')).text()).matchAll(/<p class="soft">(.*?)<\/p>/g),
  ];
  t.ok(excerpts.some(([, excerpt]) => /<mark>backups?<\/mark>/i.test(excerpt ?? '')));
  const words = new Set(readAll(pages).split(/\s+/));
  for (const [, excerpt = ''] of excerpts.slice(1)) {
    const last =
      unescapeHtml(excerpt.replace(/<\/?mark>/g, '').replace(/ …$/, ''))
        .split(' ')
        .at(-1) ?? '';
    t.ok(words.has(last), `the excerpt ends with a whole word: ${last}`);
  }
  t.match(await (await get('/docs/search?q=%22%3Cb%3E')).text(), /value="&quot;&lt;b&gt;"/);
  t.match(await (await get('/docs/search?q=volcano')).text(), /No page contains these words/);
  t.match(await (await get('/docs/search')).text(), /Enter words/);
  t.equal((await get(`/docs/search?q=${'x'.repeat(201)}`)).status, 400);
  t.equal((await get('/docs/search?q=%ff')).status, 422);
}

async function checkUnknownPaths(t: Test, { get }: Site): Promise<void> {
  for (const path of ['nowhere', '../package', '%2e%2e%2fREADME', 'operate/backup.md', '__proto__'])
    t.equal((await get(`/docs/${path}`)).status, 404, path);
}

async function checkExamples(t: Test, { server, pages }: Site): Promise<void> {
  const groups = ['collections', 'documents', 'queries', 'status', 'parsers', 'models', 'admin', 'usage'];
  const samples = groups.flatMap((group) => findSamples(pages.get(`/docs/api/${group}`) ?? ''));
  for (const { language, code } of samples) {
    if (language !== 'curl' || !code.includes('/v1/')) continue;
    const status = await runCurl(code, server);
    t.notOk([405, 415, 422].includes(status) || status >= 500, `${status}: ${code}`);
    if (code.includes('QUARRY_API_KEY')) t.not(status, 401, code);
  }
}

/** Checks that every sample reply of a page fits the reply schema that /openapi.json publishes. */
async function checkSampleReplies(t: Test, { get, pages }: Site): Promise<void> {
  const replies = new Map([...pages.values()].flatMap((html) => [...findSampleReplies(html)]));
  let checked = 0;
  for (const source of ['/openapi.json', '/api/openapi.json']) {
    const { paths, components } = (await (await get(source)).json()) as OpenApiDocument;
    for (const methods of Object.values(paths))
      for (const { operationId = '', responses = {} } of Object.values(methods)) {
        const sample = replies.get(operationId.replaceAll('_', '-'));
        const success = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1];
        const schema = success?.content?.['application/json']?.schema;
        if (sample === undefined || schema === undefined) continue;
        const resolved = resolveReferences(schema, components.schemas);
        const validator = Compile(resolved as TSchema);
        const value: unknown = JSON.parse(sample);
        checked += 1;
        t.ok(validator.Check(value), `${operationId}: ${JSON.stringify([...validator.Errors(value)])}`);
      }
  }
  t.ok(checked > 80, `${checked} of ${replies.size} sample replies were checked`);
}

/** Returns a schema with its references to components replaced by the components. */
function resolveReferences(schema: unknown, schemas: Readonly<Record<string, unknown>>): unknown {
  if (Array.isArray(schema)) return schema.map((item) => resolveReferences(item, schemas));
  if (typeof schema !== 'object' || schema === null) return schema;
  if ('$ref' in schema) {
    const name = String(schema.$ref).split('/').at(-1) ?? '';
    return resolveReferences(schemas[name], schemas);
  }
  return Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, resolveReferences(value, schemas)]),
  );
}

t.test('the documentation of a server', async (t) => {
  const server = await TestServer.start(t, { ADMIN_KEY: adminKey });
  // The checks between two requests block this process for seconds, and the server closes connections that are idle for
  // 10 s: on a busy machine, `fetch` would choose one of them.
  const get = (path: string) => fetch(`${server.url}${path}`, { headers: { connection: 'close' } });
  const site = { server, get, pages: await readPages(t, get) };
  await t.test(
    'the sidebar leads to the guides, the operation pages, the reference and the operations',
    (t) => checkSidebar(t, site),
  );
  await t.test('each page has a closed list of all pages before its content, and an outline', (t) =>
    checkContents(t, site),
  );
  await t.test('no page needs a script or loads anything', (t) => checkNoLoads(t, site));
  await t.test('every link and anchor resolves, and anchors are unique', (t) => checkLinks(t, site));
  await t.test('every published operation has a section with three examples', (t) =>
    checkOperations(t, site),
  );
  await t.test('operations that need a credential and no file lead to the console of the dashboard', (t) =>
    checkTryLinks(t, site),
  );
  await t.test('the search finds pages by their words, in any form', (t) => checkSearch(t, site));
  await t.test('other paths get 404', (t) => checkUnknownPaths(t, site));
  await t.test('every sample reply fits the published schema of its operation', (t) =>
    checkSampleReplies(t, site),
  );
  await t.test('every curl example of the retrieval API reaches its operation with a valid request', (t) =>
    checkExamples(t, site),
  );
});
