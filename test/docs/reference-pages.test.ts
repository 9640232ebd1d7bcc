import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/core/root.ts';
import t from '../support/tap.ts';
import { cliPage, configurationPage, formatsPage } from './reference-pages.ts';

const pages = {
  'configuration.md': configurationPage,
  'cli.md': cliPage,
  'formats.md': formatsPage,
} as const;

for (const [name, render] of Object.entries(pages)) {
  t.test(`docs/reference/${name} matches the code`, async (t) => {
    const path = join(projectRoot, 'docs', 'reference', name);
    if (process.env.DOCS_PAGES === 'write') writeFileSync(path, render());
    t.equal(readFileSync(path, 'utf8'), render(), 'DOCS_PAGES=write updates the page');
  });
}
