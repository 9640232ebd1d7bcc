import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { projectRoot } from '../../src/core/root.ts';
import t from '../support/tap.ts';

/** Built files of the dashboard as loaded by a browser. */

const built = join(projectRoot, 'dist', 'web');
const firstLoadBytesMax = 60 * 1024;

/** Files named in the page, which every visitor loads before anything is displayed. */
function firstLoad(page: string): string[] {
  return [...page.matchAll(/\b(?:src|href)="(\/[^"]*)"/g)].map((match) => match[1] ?? '');
}

function sourcesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(tsx?|html)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
}

t.test('the first load stays under 60 KB, compressed', async (t) => {
  const page = readFileSync(join(built, 'index.html'), 'utf8');
  const files = firstLoad(page);
  t.ok(files.some((file) => file.endsWith('.js')) && files.some((file) => file.endsWith('.css')));
  const sizes = [Buffer.from(page), ...files.map((file) => readFileSync(join(built, file)))].map(
    (bytes) => gzipSync(bytes, { level: 9 }).byteLength,
  );
  const sum = sizes.reduce((all, size) => all + size, 0);
  t.comment(`${files.length} files, ${sum} bytes`);
  t.ok(sum <= firstLoadBytesMax, `${sum} bytes`);
});

t.test('file names change with their content, and the page has no inline script or style', async (t) => {
  for (const file of readdirSync(join(built, 'assets'))) t.match(file, /-[\w-]{8}\.\w+$/, file);
  const page = readFileSync(join(built, 'index.html'), 'utf8');
  t.notMatch(page, /<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=/i);
  t.notMatch(page, /https?:\/\//, 'nothing is loaded from other hosts');
});

t.test('every file that a style sheet names is built', async (t) => {
  const assets = join(built, 'assets');
  const sheets = readdirSync(assets).filter((file) => file.endsWith('.css'));
  const named = sheets.flatMap((file) =>
    [...readFileSync(join(assets, file), 'utf8').matchAll(/url\("?([^)"]+)"?\)/g)].map(
      (match) => match[1] ?? '',
    ),
  );
  const files = named.filter((name) => !name.startsWith('data:'));
  t.ok(files.length > 0, 'fonts');
  for (const name of files)
    t.ok(existsSync(join(built, new URL(name, 'http://host/assets/').pathname)), name);
});

t.test('no source can turn stored values into HTML', async (t) => {
  const sources = sourcesBelow(join(projectRoot, 'web'));
  t.ok(sources.length > 30, `${sources.length} sources`);
  const htmlSinks =
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|srcdoc|\beval\(|new Function\(/;
  t.same(
    sources.filter((path) => htmlSinks.test(readFileSync(path, 'utf8'))),
    [],
  );
});
