import type { Route } from '../../../src/http/routes/route.ts';
import type { ResourceIds, TenantFixture } from '../tenant-fixture.ts';
import { administrationTests } from './administration.ts';
import { aliasTests } from './aliases.ts';
import { answerTests } from './answers.ts';
import { apiKeyTests } from './api-keys.ts';
import { backupTests } from './backups.ts';
import { billingTests } from './billing.ts';
import { changeTests } from './changes.ts';
import { collectionTests } from './collections.ts';
import { documentTests } from './documents.ts';
import { type CallInput, exampleInput } from './inputs.ts';
import { installationTests } from './installation.ts';
import { marketplaceTests } from './marketplaces.ts';
import { mcpTests } from './mcp.ts';
import { memberTests } from './members.ts';
import { modelTests } from './models.ts';
import type { OperationTest, OperationTests } from './operation-test.ts';
import { organizationTests } from './organizations.ts';
import { otherClientTests } from './other-clients.ts';
import { pageTests } from './pages.ts';
import { parserTests } from './parsers.ts';
import { passkeyTests } from './passkeys.ts';
import { queryTests } from './queries.ts';
import { signInTests } from './sign-in.ts';
import { sourceTests } from './sources.ts';
import { statusTests } from './status.ts';
import { usageTests } from './usage.ts';
import { userTests } from './users.ts';
import { webhookTests } from './webhooks.ts';

/** The entries of all nouns, by operation, in the order in which tests call the operations. */
export const operationTests = {
  ...collectionTests,
  ...aliasTests,
  ...changeTests,
  ...sourceTests,
  ...webhookTests,
  ...documentTests,
  ...statusTests,
  ...queryTests,
  ...answerTests,
  ...modelTests,
  ...otherClientTests,
  ...mcpTests,
  ...parserTests,
  ...usageTests,
  ...administrationTests,
  ...backupTests,
  ...installationTests,
  ...signInTests,
  ...userTests,
  ...passkeyTests,
  ...organizationTests,
  ...memberTests,
  ...apiKeyTests,
  ...billingTests,
  ...marketplaceTests,
  ...pageTests,
} satisfies OperationTests;

/** Returns the entry of an operation; undefined for the name of a page that is no operation. */
export function findOperationTest(operation: string): OperationTest | undefined {
  const tests: OperationTests = operationTests;
  return tests[operation];
}

/** Returns the entry of an operation. Errors: the operation has none. */
export function operationTestOf(operation: string): OperationTest {
  const test = findOperationTest(operation);
  if (test === undefined)
    throw new Error(`Add ${operation} to the table of its noun in test/http/operations; see CONTRIBUTING.md`);
  return test;
}

/** Returns the request of a test. `fresh`: a name that no other request uses. */
export function buildCallInput(
  route: Route,
  names: ResourceIds,
  fresh: string,
  fixture: TenantFixture,
): CallInput {
  const { buildInput } = operationTestOf(route.operation);
  return buildInput === undefined ? exampleInput(route, names) : buildInput(names, fresh, fixture);
}
