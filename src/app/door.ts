import { join } from 'node:path';
import { Authenticator } from '../access/authenticate.ts';
import { type Operation, operationNeeds } from '../access/authorise.ts';
import { organizationSemaphore } from '../admission/organization-semaphore.ts';
import type { Quotas } from '../admission/quotas.ts';
import { actorOf } from '../audit/actor.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { Metrics } from '../base/metrics.ts';
import { projectRoot } from '../base/root.ts';
import type { PaymentsState } from '../billing/key-health.ts';
import type { Settings } from '../config/schema.ts';
import type { Egress } from '../egress/egress.ts';
import type { AccountServices } from '../http/account-route.ts';
import { builtFiles, Dashboard } from '../http/dashboard.ts';
import { Door, type RefusalFact } from '../http/handle.ts';
import { LargeBodies } from '../http/large-bodies.ts';
import { isLoopback } from '../http/origin.ts';
import { routes } from '../http/routes.ts';
import type { Services } from '../http/services.ts';
import type { OpenedTools } from '../parsing/open-tools.ts';
import type { DataDirectory } from '../store/data-directory.ts';
import type { AccountRooms } from './accounts.ts';
import { bodyScheduler, chance, clock, home, scheduler } from './given.ts';
import { type LoadProgress, readiness } from './loading.ts';
import type { Pipeline } from './pipeline.ts';
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
const documentOperations: ReadonlySet<Operation> = new Set([
  'add-document',
  'add-documents',
  'put-document',
  'upload-document',
]);

const apiVersion = '0.1.0';

interface DoorParts {
  readonly data: DataDirectory;
  readonly tools: OpenedTools;
  readonly rooms: AccountRooms;
  readonly services: Services;
  readonly accounts: AccountServices;
  readonly pipeline: Pipeline;
  readonly pools: Pick<Pools, 'json'>;
  readonly quotas: Quotas;
  readonly progress: LoadProgress;
  readonly egress: Egress;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly payments: () => PaymentsState | null;
}

export function buildDoor(settings: Settings, parts: DoorParts): Door {
  const { data, tools, rooms, services, accounts, pipeline, quotas, progress, egress, metrics, logger } =
    parts;
  const { organisations } = rooms;
  const { adminKey, adminPasswordHash } = settings;
  return new Door({
    routes,
    largeBodies: largeBodies(settings, parts.pools.json),
    services,
    accounts,
    identity: new Authenticator({ ...rooms, clock, adminKey, hasAdminPassword: adminPasswordHash !== null }),
    guards: {
      admit: (principal, operation) => {
        quotas.admit(principal, operation);
        if (principal?.kind === 'organisation' && documentOperations.has(operation))
          pipeline.admission.check(principal.organizationId);
      },
      refused: (fact) => noteRefusal(rooms, fact),
    },
    metadataBytesMax: (principal) => organisations.limitsOf(principal.organizationId).metadataBytesMax,
    modelBytesMax: (principal) => organisations.limitsOf(principal.organizationId).bytesPerRequestMax,
    notReady: () =>
      progress.done
        ? null
        : `The server is loading: ${progress.loaded} of ${progress.all} collections are ready.`,
    dashboard: openDashboard(logger),
    readiness: () => {
      const { catalogue } = pipeline;
      return readiness(progress.done, { data, tools, egress, catalogue, payments: parts.payments() });
    },
    metrics,
    settings: doorSettings(settings),
    logger,
    clock,
    scheduler,
    bodyScheduler,
    chance,
    version: apiVersion,
  });
}

/** Large request bodies are read on as many threads as there are permits, organization by organization. */
function largeBodies({ uploadBytesMax }: Settings, pool: Pools['json']): LargeBodies {
  const semaphore = organizationSemaphore({
    permits: jsonThreads,
    waitingMax: limits.largeBodiesWaitingMax,
    what: 'large requests',
  });
  return new LargeBodies({ pool, semaphore, fileBytesMax: uploadBytesMax });
}

/** What the build made of `web/`. */
function openDashboard(logger: Logger): Dashboard {
  const dashboard = new Dashboard(builtFiles(join(projectRoot, 'dist', 'web')));
  if (!dashboard.isBuilt) logger.warn({}, 'the dashboard is not built: "npm run build" makes it');
  return dashboard;
}

/** What members may not do in their organization is noted where that is decided. */
function noteRefusal({ refusals }: AccountRooms, fact: RefusalFact): void {
  const { principal, stranger, operation, name, address } = fact;
  if (principal?.kind === 'person' && operationNeeds[operation] === 'person') return;
  const noted = { address, target: name, action: 'access.denied' };
  if (stranger !== null) {
    refusals.note({ ...noted, organizationId: stranger.organizationId, actor: stranger.userId });
    return;
  }
  const organizationId = principal?.kind === 'organisation' ? principal.organizationId : null;
  refusals.note({ ...noted, organizationId, actor: actorOf(principal) });
}

/** Says where others could learn what signs people in. */
export function warnOfLeaks(settings: Settings, logger: Logger): void {
  warnOfPlainHttp(settings, logger);
  warnOfPrintedMail(settings, logger);
}

/** Whoever can read the network between could take the sessions of people who sign in. */
function warnOfPlainHttp({ host, baseUrl }: Settings, logger: Logger): void {
  if (isThisMachine(host) || baseUrl?.startsWith('https:')) return;
  const hint = 'people sign in over plain http: cookies lose Secure and __Host-; see QUARRY_BASE_URL';
  logger.warn({ host, baseUrl }, hint);
}

/** Whoever reads what the server prints could sign in as anybody: that is for trying it out on a machine of one's own. */
function warnOfPrintedMail({ mailUrl, host, baseUrl }: Settings, logger: Logger): void {
  if (mailUrl !== 'console:') return;
  if (isThisMachine(host) && (baseUrl === null || isThisMachine(new URL(baseUrl).hostname))) return;
  const hint =
    'sign-in links of other people are printed, and mailed to nobody: set QUARRY_MAIL_URL to smtp://';
  logger.warn({ host, baseUrl }, hint);
}

function isThisMachine(host: string): boolean {
  return host === 'localhost' || isLoopback(host.replace(/^\[(.*)\]$/, '$1'));
}

/** Where this machine itself reaches the server. */
export function localUrl(host: string, port: number): string {
  const any: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '[::1]' };
  return `http://${any[host] ?? (host.includes(':') ? `[${host}]` : host)}:${port}`;
}

function doorSettings(settings: Settings) {
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
