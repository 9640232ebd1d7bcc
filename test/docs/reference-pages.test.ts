import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/core/root.ts';
import t from '../support/tap.ts';
import { cliPage, configurationPage, formatsPage, httpApiPage } from './reference-pages.ts';

/** Each function returns the page as it must be; `current` is the page as it is. */
const pages: Readonly<Record<string, (current: string) => string>> = {
  'configuration.md': configurationPage,
  'cli.md': cliPage,
  'formats.md': formatsPage,
  'http-api.md': httpApiPage,
};

for (const [name, render] of Object.entries(pages)) {
  t.test(`docs/reference/${name} matches the code`, async (t) => {
    const path = join(projectRoot, 'docs', 'reference', name);
    const read = () => readFileSync(path, 'utf8');
    if (process.env.DOCS_PAGES === 'write') writeFileSync(path, render(read()));
    t.equal(read(), render(read()), 'DOCS_PAGES=write updates the page');
  });
}
