import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/core/root.ts';
import t from '../support/tap.ts';
import { clientDocument, clientMethods, operationsSource, schemasSource } from './client-source.ts';

/**
 * The generated files of `packages/client` are up to date and complete. This file does not import the client, so that it can
 * write files that do not compile.
 */

const generated: Readonly<Record<string, () => string>> = {
  'schemas.ts': schemasSource,
  'operations.ts': operationsSource,
};

for (const [name, render] of Object.entries(generated)) {
  t.test(`packages/client/src/generated/${name} matches the code`, async (t) => {
    const path = join(projectRoot, 'packages', 'client', 'src', 'generated', name);
    if (process.env.CLIENT_SOURCE === 'write') writeFileSync(path, render());
    t.ok(readFileSync(path, 'utf8') === render(), 'CLIENT_SOURCE=write updates the file');
  });
}

/** Operations without a method: pages for browsers and monitoring, and a protocol that has its own clients. */
const withoutMethod = [
  'home_page',
  'dashboard-entry_page',
  'dashboard_page',
  'asset_page',
  'healthz_page',
  'readyz_page',
  'metrics_page',
  'openapi_page',
  'account-openapi_page',
  'docs_page',
  'documentation_page',
  'mcp',
];

t.test('each operation of the OpenAPI document is a method, except pages and MCP', async (t) => {
  const operations = Object.values(clientDocument.paths).flatMap((item) =>
    Object.entries(item).flatMap(([method, { operationId }]) => (method === 'servers' ? [] : [operationId])),
  );
  const ids = [...clientMethods.map(({ operation }) => operation.operationId), ...withoutMethod];
  t.same(operations.sort(), ids.sort());
  const names = clientMethods.map(({ group, name }) => `${group}.${name}`);
  t.equal(new Set(names).size, names.length, 'names are unique');
});
