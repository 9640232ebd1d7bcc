import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { projectRoot } from '../../src/core/root.ts';
import t from '../support/tap.ts';

const pages = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
  cwd: projectRoot,
  encoding: 'utf8',
})
  .split('\n')
  .filter((page) => page !== '' && !page.startsWith('bench/results/') && existsSync(join(projectRoot, page)));

/** Anchors that GitHub generates for the headings of a page. */
function anchorsOf(page: string): Set<string> {
  const headings = textOf(page).matchAll(/^#{1,6} (.+)$/gm);
  return new Set([...headings].map(([, heading = '']) => anchorOf(heading)));
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** Text of a page without code, in which brackets are not links. */
function textOf(page: string): string {
  const text = readFileSync(join(projectRoot, page), 'utf8');
  return text
    .replace(/^ *```[\s\S]*?^ *```$/gm, '')
    .replace(/`[^`\n]*`/g, (code) => code.replace(/[[\]()]/g, ''));
}

t.test('the target of every link between pages exists', async (t) => {
  t.ok(pages.length > 20);
  for (const page of pages)
    for (const [, address = ''] of textOf(page).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(address)) continue;
      const [path = '', anchor] = address.split('#');
      const target = path === '' ? page : normalize(join(dirname(page), path));
      const isThere = existsSync(join(projectRoot, target));
      if (!isThere) t.fail(`${page}: ${address}: there is no ${target}`);
      else if (anchor !== undefined && !anchorsOf(target).has(anchor))
        t.fail(`${page}: ${address}: ${target} has no heading with this anchor`);
    }
});

t.test('the README stays an overview', async (t) => {
  t.ok(readFileSync(join(projectRoot, 'README.md'), 'utf8').split('\n').length <= 150);
});
