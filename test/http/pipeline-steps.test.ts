import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/core/root.ts';
import { steps } from '../../src/http/pipeline/steps.ts';
import t from '../support/tap.ts';

t.test('ARCHITECTURE.md lists the steps of the request pipeline in their order', async (t) => {
  const page = readFileSync(join(projectRoot, 'ARCHITECTURE.md'), 'utf8');
  const listedSteps = [...page.matchAll(/^\d+\. `(\w+)`/gm)].map(([, name]) => name);
  t.same(
    listedSteps,
    steps.map(({ name }) => name),
  );
});
