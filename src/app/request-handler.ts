import { join } from 'node:path';
import { createOrganizationSemaphore } from '../admission/organization-semaphore.ts';
import type { Quotas } from '../admission/quotas.ts';
import { actorOf } from '../audit/actor.ts';
import { Authenticator } from '../auth/authenticate.ts';
import type { PaymentsReadiness } from '../billing/stripe-key-health.ts';
import type { Settings } from '../config/schema.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import type { Metrics } from '../core/metrics.ts';
import { rateLimits } from '../core/rate-limits.ts';
import { projectRoot } from '../core/root.ts';
import { version } from '../core/version.ts';
import type { Egress } from '../egress/egress.ts';
import type { CertificateMonitor } from '../http/certificate-monitor.ts';
import { Dashboard, readBuiltFiles } from '../http/dashboard.ts';
import { LargeBodyReader } from '../http/large-body-reader.ts';
import { isLoopback } from '../http/origin.ts';
import type { Readiness } from '../http/pages.ts';
import { RequestHandler } from '../http/request-handler.ts';
import type { DeniedAccess } from '../http/request-handler-options.ts';
import type { AccountServices } from '../http/routes/account-route.ts';
import { routes } from '../http/routes/routes.ts';
import type { Services } from '../http/services.ts';
import type { ToolEnvironment } from '../parsing/tools/open-tools.ts';
import type { DataDirectory } from '../storage/data-directory.ts';
import type { Tracer } from '../tracing/tracer.ts';
import type { AccountComponents } from './account-components.ts';
import { type Backups, describeBackups } from './backups.ts';
import { describeCertificate } from './certificates.ts';
import { describeReadiness, type LoadProgress } from './loading.ts';
import type { Pipeline } from './pipeline.ts';
import { bodyScheduler, clock, home, random, scheduler } from './runtime.ts';
import { jsonThreads, type Pools } from './storage.ts';

/** Constructs the request handler and the HTTP server. */

/**
 * Maximum bytes of request bodies in memory. The share of one organization is half, so the largest body of another one
 * still fits.
 */
function jsonBytesHeldMax({ bodyBytesMax }: Settings): number {
  return Math.max(1_000_000_000, 4 * bodyBytesMax);
}

/** Operations that add documents: rejected before their body is read when the server accepts no documents. */
const documentOperations: ReadonlySet<string> = new Set([
  'add-document',
  'add-documents',
  'put-document',
  'upload-document',
]);

export const apiVersion = version;

interface RequestHandlerDependencies {
  readonly data: DataDirectory;
  readonly backups: Backups;
  readonly tools: ToolEnvironment;
  readonly components: AccountComponents;
  readonly services: Services;
  readonly accounts: AccountServices;
  readonly pipeline: Pipeline;
  readonly pools: Pick<Pools, 'json'>;
  readonly quotas: Quotas;
  readonly progress: LoadProgress;
  /** Whether requests wait until the server is ready: a client of an earlier process is not told to try again. */
  readonly waitsForStart: boolean;
  readonly egress: Egress;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly certificates: CertificateMonitor | null;
  readonly tracer: Tracer | null;
  readonly readiness: () => Readiness;
}

interface ReadinessDependencies
  extends Pick<
    RequestHandlerDependencies,
    'data' | 'backups' | 'tools' | 'pipeline' | 'progress' | 'egress' | 'certificates'
  > {
  readonly payments: () => PaymentsReadiness | null;
}

/** Returns a function that describes what `/readyz` shows. */
export function buildReadiness(dependencies: ReadinessDependencies): () => Readiness {
  const { data, tools, egress, pipeline, progress } = dependencies;
  return () =>
    describeReadiness(progress.isDone, {
      data,
      tools,
      egress,
      catalog: pipeline.catalog,
      payments: dependencies.payments(),
      backups: describeBackups(dependencies.backups),
      tls: describeCertificate(dependencies.certificates),
    });
}

export function buildRequestHandler(
  settings: Settings,
  dependencies: RequestHandlerDependencies,
): RequestHandler {
  const { components, services, accounts, pipeline, quotas, progress, metrics, logger } = dependencies;
  const { organizations } = components;
  const { adminKey, adminPasswordHash } = settings;
  return new RequestHandler({
    routes: settings.mcp === 'off' ? routes.filter(({ kind }) => kind !== 'mcp') : routes,
    largeBodies: createLargeBodyReader(settings, dependencies.pools.json),
    services,
    accounts,
    authenticator: new Authenticator({
      keys: components.keys,
      organizations,
      sessions: components.sessions,
      memberships: components.memberships,
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
        : `The server is loading collections (${progress.loaded} of ${progress.total} ready). Try again shortly.`,
    started: dependencies.waitsForStart ? progress.done : null,
    dashboard: openDashboard(logger),
    readiness: dependencies.readiness,
    metrics,
    tracer: dependencies.tracer,
    settings: requestHandlerSettings(settings),
    logger,
    clock,
    scheduler,
    bodyScheduler,
    random,
    version: apiVersion,
  });
}

/** Reader of large request bodies: one permit per thread, shared fairly between organizations. */
function createLargeBodyReader({ uploadBytesMax }: Settings, pool: Pools['json']): LargeBodyReader {
  const semaphore = createOrganizationSemaphore({
    permits: jsonThreads,
    waitingMax: limits.largeBodiesWaitingMax,
    noun: 'large requests',
  });
  return new LargeBodyReader({ pool, semaphore, fileBytesMax: uploadBytesMax });
}

/** Opens the dashboard that the build created from `web/`. */
function openDashboard(logger: Logger): Dashboard {
  const dashboard = new Dashboard(readBuiltFiles(join(projectRoot, 'dist', 'web')));
  if (!dashboard.isBuilt) logger.warn({}, 'dashboard assets not found; run "npm run build"');
  return dashboard;
}

/** Records a denied request. Denials by the role of a member are recorded where they are decided. */
function recordDeniedAccess({ deniedAccessLog }: AccountComponents, deniedAccess: DeniedAccess): void {
  const { principal, nonMember, requiredAccess, name, address } = deniedAccess;
  if (principal?.kind === 'user' && requiredAccess === 'user') return;
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

/** Logs a warning for settings that could expose credentials of users. */
export function warnAboutInsecureSettings(settings: Settings, logger: Logger): void {
  warnAboutPlainHttp(settings, logger);
  warnAboutConsoleMail(settings, logger);
}

/** Without TLS, an attacker in the network path can take over sessions. */
function warnAboutPlainHttp({ host, baseUrl, tlsCertificateFile }: Settings, logger: Logger): void {
  if (isLoopbackName(host) || tlsCertificateFile !== null || baseUrl?.startsWith('https:')) return;
  const message =
    'sign-in over plain HTTP: cookies are sent without Secure and __Host-; set QUARRY_TLS_CERTIFICATE_FILE, or QUARRY_BASE_URL to the https:// address of a proxy';
  logger.warn({ host, baseUrl }, message);
}

/** Printed sign-in links let every reader of the output sign in as any user: acceptable on a local machine only. */
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

/** URL of the server as seen from this machine. */
export function localUrl({ host, tlsCertificateFile }: Settings, port: number): string {
  const wildcardHosts: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '[::1]' };
  const protocol = tlsCertificateFile === null ? 'http' : 'https';
  return `${protocol}://${wildcardHosts[host] ?? (host.includes(':') ? `[${host}]` : host)}:${port}`;
}

function requestHandlerSettings(settings: Settings) {
  return {
    baseUrl: settings.baseUrl,
    trustProxy: settings.trustProxy,
    jsonBytesMax: settings.bodyBytesMax,
    mcpMayWrite: settings.mcp === 'write',
    mcpMayAnswer: settings.chatUrl !== null,
    jsonBytesHeldMax: jsonBytesHeldMax(settings),
    uploadBytesMax: settings.uploadBytesMax,
    uploadsRunningMax: limits.uploadsRunningMax,
    requestsRunningMax: limits.requestsRunningMax,
    webhookWindows: rateLimits.webhooks,
    bodyIdleMsMax: limits.bodyIdleMsMax,
    requestMsMax: limits.requestMsMax,
    home,
    hasMetricsAddress: settings.metricsListen !== null,
  };
}
