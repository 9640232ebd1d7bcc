import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../src/core/root.ts';
import t from './support/tap.ts';

const page = readFileSync(join(projectRoot, 'docs', 'operate', 'guarantees.md'), 'utf8');

/** Row of the page: `| guarantee | file below test/ | title |`. */
const rows = [...page.matchAll(/^\| (.+?) \| `(.+?)` \| (.+?) \|$/gm)].map(
  ([, guarantee = '', file = '', title = '']) => ({ guarantee, file, title }),
);

t.test('every guarantee of the page names a test that exists', async (t) => {
  t.ok(rows.length > 50, `${rows.length} guarantees`);
  for (const { guarantee, file, title } of rows) {
    const path = join(projectRoot, 'test', file);
    if (!existsSync(path)) {
      t.fail(`${guarantee}: test/${file} does not exist`);
      continue;
    }
    t.ok(declares(readFileSync(path, 'utf8'), title), `${guarantee}: test/${file} has the test "${title}"`);
  }
});

t.test('a title that only occurs in a comment is not a test', async (t) => {
  t.notOk(declares('// a title', 'a title'));
  t.ok(declares("t.test('a title', async () => {});", 'a title'));
});

/** Whether the source declares the title. Titles are string literals; those of loops start with a placeholder. */
function declares(source: string, title: string): boolean {
  return [`'${title}'`, `\`${title}\``, `: ${title}\``, `: ${title} (`, `\`${title} (`].some((form) =>
    source.includes(form),
  );
}
