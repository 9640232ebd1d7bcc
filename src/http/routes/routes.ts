import { administrationRoutes } from './administration.ts';
import { aliasRoutes } from './aliases.ts';
import { answerRoutes } from './answers.ts';
import { apiKeyRoutes } from './api-keys.ts';
import { backupRoutes } from './backups.ts';
import { billingRoutes } from './billing.ts';
import { changeRoutes } from './changes.ts';
import { collectionRoutes } from './collections.ts';
import { documentRoutes } from './documents.ts';
import { installationRoutes } from './installation.ts';
import { marketplaceRoutes } from './marketplaces.ts';
import { mcpRoutes } from './mcp.ts';
import { memberRoutes } from './members.ts';
import { modelRoutes } from './models.ts';
import { organizationRoutes } from './organizations.ts';
import { otherClientRoutes } from './other-clients.ts';
import { pageRoutes } from './pages.ts';
import { parserRoutes } from './parsers.ts';
import { passkeyRoutes } from './passkeys.ts';
import { queryRoutes } from './queries.ts';
import type { Route } from './route.ts';
import { signInRoutes } from './sign-in.ts';
import { sourceRoutes } from './sources.ts';
import { statusRoutes } from './status.ts';
import { usageRoutes } from './usage.ts';
import { userRoutes } from './users.ts';
import { webhookRoutes } from './webhooks.ts';

/**
 * The route table. The router, the request pipeline, the OpenAPI document and the documentation page all
 * derive from it, so one entry describes, authorizes, validates and serves an operation.
 */
export const routes: readonly Route[] = [
  ...collectionRoutes,
  ...aliasRoutes,
  ...documentRoutes,
  ...changeRoutes,
  ...sourceRoutes,
  ...webhookRoutes,
  ...queryRoutes,
  ...answerRoutes,
  ...statusRoutes,
  ...parserRoutes,
  ...modelRoutes,
  ...otherClientRoutes,
  ...mcpRoutes,
  ...administrationRoutes,
  ...backupRoutes,
  ...installationRoutes,
  ...usageRoutes,
  ...signInRoutes,
  ...userRoutes,
  ...passkeyRoutes,
  ...organizationRoutes,
  ...memberRoutes,
  ...apiKeyRoutes,
  ...billingRoutes,
  ...marketplaceRoutes,
  ...pageRoutes,
];
