import { join } from 'node:path';
import { createOrganizationSemaphore } from '../admission/organization-semaphore.ts';
import type { Quotas } from '../admission/quotas.ts';
import { actorOf } from '../audit/actor.ts';
import { Authenticator } from '../auth/authenticate.ts';
import { type OperationName, requiredAccessOf } from '../auth/authorize.ts';
import type { PaymentsReadiness } from '../billing/stripe-key-health.ts';
import type { Settings } from '../config/schema.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import type { Metrics } from '../core/metrics.ts';
import { projectRoot } from '../core/root.ts';
import type { Egress } from '../egress/egress.ts';
import type { AccountServices } from '../http/account-route.ts';
import { Dashboard, readBuiltFiles } from '../http/dashboard.ts';
import { LargeBodyReader } from '../http/large-body-reader.ts';
import { isLoopback } from '../http/origin.ts';
import { type DeniedAccess, RequestHandler } from '../http/request-handler.ts';
import { routes } from '../http/routes.ts';
import type { Services } from '../http/services.ts';
import type { ToolEnvironment } from '../parsing/tools/open-tools.ts';
import type { DataDirectory } from '../storage/data-directory.ts';
import type { AccountComponents } from './accounts.ts';
import { describeReadiness, type LoadProgress } from './loading.ts';
import type { Pipeline } from './pipeline.ts';
import { bodyScheduler, clock, home, random, scheduler } from './runtime.ts';
import { jsonThreads, type Pools } from './storage.ts';

/** What listens. */

/**
 * Memory of request bodies at one time: beside an organization with its whole share, which is half, the largest body of
 * another one still fits.
 */
function jsonBytesHeldMax({ bodyBytesMax }: Settings): number {
  return Math.max(1_000_000_000, 4 * bodyBytesMax);
}

/** Operations that bring documents in: refused before their body is read when there is no room. */
const documentOperations: ReadonlySet<OperationName> = new Set([
  'add-document',
  'add-documents',
  'put-document',
  'upload-document',
]);

const apiVersion = '0.1.0';

interface RequestHandlerDependencies {
  readonly data: DataDirectory;
  readonly tools: ToolEnvironment;
  readonly components: AccountComponents;
  readonly services: Services;
  readonly accounts: AccountServices;
  readonly pipeline: Pipeline;
  readonly pools: Pick<Pools, 'json'>;
  readonly quotas: Quotas;
  readonly progress: LoadProgress;
  readonly egress: Egress;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly payments: () => PaymentsReadiness | null;
}

export function buildRequestHandler(
  settings: Settings,
  dependencies: RequestHandlerDependencies,
): RequestHandler {
  const { data, tools, components, services, accounts, pipeline, quotas, progress, egress, metrics, logger } =
    dependencies;
  const { organizations } = components;
  const { adminKey, adminPasswordHash } = settings;
  return new RequestHandler({
    routes,
    largeBodies: createLargeBodyReader(settings, dependencies.pools.json),
    services,
    accounts,
    authenticator: new Authenticator({
      ...components,
      clock,
      adminKey,
      hasAdminPassword: adminPasswordHash !== null,
    }),
    hooks: {
      admit: (principal, operation) => {
        quotas.admit(principal, operation);
        if (principal?.kind === 'organization' && documentOperations.has(operation))
          pipeline.admission.check(principal.organizationId);
      },
      onDenied: (deniedAccess) => recordDeniedAccess(components, deniedAccess),
    },
    metadataBytesMax: (principal) => organizations.limitsOf(principal.organizationId).metadataBytesMax,
    modelBytesMax: (principal) => organizations.limitsOf(principal.organizationId).bytesPerRequestMax,
    notReadyReason: () =>
      progress.isDone
        ? null
        : `The server is loading collections (${progress.loaded} of ${progress.total} ready). Retry shortly.`,
    dashboard: openDashboard(logger),
    readiness: () => {
      const { catalog } = pipeline;
      return describeReadiness(progress.isDone, {
        data,
        tools,
        egress,
        catalog,
        payments: dependencies.payments(),
      });
    },
    metrics,
    settings: requestHandlerSettings(settings),
    logger,
    clock,
    scheduler,
    bodyScheduler,
    random,
    version: apiVersion,
  });
}

/** Large request bodies are read on as many threads as there are permits, organization by organization. */
function createLargeBodyReader({ uploadBytesMax }: Settings, pool: Pools['json']): LargeBodyReader {
  const semaphore = createOrganizationSemaphore({
    permits: jsonThreads,
    waitingMax: limits.largeBodiesWaitingMax,
    noun: 'large requests',
  });
  return new LargeBodyReader({ pool, semaphore, fileBytesMax: uploadBytesMax });
}

/** What the build made of `web/`. */
function openDashboard(logger: Logger): Dashboard {
  const dashboard = new Dashboard(readBuiltFiles(join(projectRoot, 'dist', 'web')));
  if (!dashboard.isBuilt) logger.warn({}, 'dashboard assets not found; run "npm run build"');
  return dashboard;
}

/** What members may not do in their organization is noted where that is decided. */
function recordDeniedAccess({ deniedAccessLog }: AccountComponents, deniedAccess: DeniedAccess): void {
  const { principal, nonMember, operation, name, address } = deniedAccess;
  if (principal?.kind === 'user' && requiredAccessOf[operation] === 'user') return;
  const auditEvent = { address, target: name, action: 'access.denied' };
  if (nonMember !== null) {
    deniedAccessLog.record({
      ...auditEvent,
      organizationId: nonMember.organizationId,
      actor: nonMember.userId,
    });
    return;
  }
  const organizationId = principal?.kind === 'organization' ? principal.organizationId : null;
  deniedAccessLog.record({ ...auditEvent, organizationId, actor: actorOf(principal) });
}

/** Says where others could learn what signs people in. */
export function warnAboutInsecureSettings(settings: Settings, logger: Logger): void {
  warnAboutPlainHttp(settings, logger);
  warnAboutConsoleMail(settings, logger);
}

/** Whoever can read the network between could take the sessions of people who sign in. */
function warnAboutPlainHttp({ host, baseUrl }: Settings, logger: Logger): void {
  if (isLoopbackName(host) || baseUrl?.startsWith('https:')) return;
  const message =
    'sign-in over plain HTTP: cookies are sent without Secure and __Host-; set QUARRY_BASE_URL to an https:// address';
  logger.warn({ host, baseUrl }, message);
}

/** Whoever reads what the server prints could sign in as anybody: that is for trying it out on a machine of one's own. */
function warnAboutConsoleMail({ mailUrl, host, baseUrl }: Settings, logger: Logger): void {
  if (mailUrl !== 'console:') return;
  if (isLoopbackName(host) && (baseUrl === null || isLoopbackName(new URL(baseUrl).hostname))) return;
  const message =
    'QUARRY_MAIL_URL=console: prints sign-in links to stdout instead of sending them; set an smtp:// address';
  logger.warn({ host, baseUrl }, message);
}

function isLoopbackName(host: string): boolean {
  return host === 'localhost' || isLoopback(host.replace(/^\[(.*)\]$/, '$1'));
}

/** Where this machine itself reaches the server. */
export function localUrl(host: string, port: number): string {
  const wildcardHosts: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '[::1]' };
  return `http://${wildcardHosts[host] ?? (host.includes(':') ? `[${host}]` : host)}:${port}`;
}

function requestHandlerSettings(settings: Settings) {
  return {
    baseUrl: settings.baseUrl,
    trustProxy: settings.trustProxy,
    jsonBytesMax: settings.bodyBytesMax,
    jsonBytesHeldMax: jsonBytesHeldMax(settings),
    uploadBytesMax: settings.uploadBytesMax,
    uploadsRunningMax: limits.uploadsRunningMax,
    requestsRunningMax: limits.requestsRunningMax,
    webhooksPerMinuteMax: limits.webhooksPerMinuteMax,
    bodyIdleMsMax: limits.bodyIdleMsMax,
    requestMsMax: limits.requestMsMax,
    home,
  };
}
