import type { RequiredAccess } from '../auth/authorize.ts';
import type { Credentials } from '../auth/credentials.ts';
import type { NonMember } from '../core/app-error.ts';
import type { EventLoopScheduler } from '../core/async/event-loop-scheduler.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import type { Metrics } from '../core/metrics.ts';
import type { WindowLimit } from '../core/rate-limits.ts';
import type { OrganizationPrincipal, Principal } from '../schemas/principal.ts';
import type { Tracer } from '../tracing/tracer.ts';
import type { Dashboard } from './dashboard.ts';
import type { LargeBodyReader } from './large-body-reader.ts';
import type { OriginSettings } from './origin.ts';
import type { Readiness } from './pages.ts';
import type { AccountServices } from './routes/account-route.ts';
import type { Route } from './routes/route.ts';
import type { Services } from './services.ts';

/** Authenticates requests; implemented in `auth/authenticate`. */
export interface RequestAuthenticator {
  /**
   * Returns null for an operation that needs no credential. Errors: 401, 403, 404; 503 if administration is
   * disabled.
   */
  authenticate(credentials: Credentials, requiredAccess: RequiredAccess): Principal | null;
}

/** Hooks of the request pipeline, for admission control and the audit log. Each is optional. */
export interface RequestHooks {
  /**
   * Runs before the body is read, so that a client does not upload a body that a full queue or an exhausted
   * disk or memory reserve would reject.
   */
  readonly admit?: (principal: Principal | null, operation: string) => void;
  /**
   * Runs before the reply to a denied request that carried a credential: 401, 403, or the error for a user
   * who is not a member of the organization.
   */
  readonly onDenied?: (event: DeniedAccess) => void;
}

export interface DeniedAccess {
  /** Null for an invalid credential. */
  readonly principal: Principal | null;
  /** Set when a user named an organization of which they are not a member. */
  readonly nonMember: NonMember | null;
  readonly requiredAccess: RequiredAccess;
  /** Operation name as API clients know it. */
  readonly name: string;
  /** Address of the client. */
  readonly address: string;
}

export interface RequestHandlerSettings extends OriginSettings {
  /** Maximum bytes of a JSON body. */
  readonly jsonBytesMax: number;
  /** Maximum bytes of all JSON bodies in memory. */
  readonly jsonBytesHeldMax: number;
  /** Maximum bytes of an uploaded file, including its form. */
  readonly uploadBytesMax: number;
  /** Maximum number of uploads in progress; each holds an open file and a queue in memory. */
  readonly uploadsRunningMax: number;
  /** Maximum number of concurrent requests; a small reserve is kept beyond it. */
  readonly requestsRunningMax: number;
  /** Webhook calls per minute and address. They are read before their sender is authenticated. */
  readonly webhookWindows: readonly WindowLimit[];
  /** Milliseconds without a byte after which reading a body fails. */
  readonly bodyIdleMsMax: number;
  /** Milliseconds for a call; for an upload, counted from its last byte. */
  readonly requestMsMax: number;
  /** Whether MCP clients whose key may write get the tools that write. */
  readonly mcpMayWrite: boolean;
  /** Whether MCP clients get the tool that answers questions. */
  readonly mcpMayAnswer: boolean;
  /** Redirect target of `/`. */
  readonly home: string;
  /** Whether metrics and readiness have their own address, and are not served on the public one. */
  readonly hasMetricsAddress: boolean;
}

export interface RequestHandlerOptions {
  readonly routes: readonly Route[];
  readonly services: Services;
  readonly accounts: AccountServices;
  readonly authenticator: RequestAuthenticator;
  readonly hooks?: RequestHooks;
  /** Metadata limit of an organization, in bytes. */
  readonly metadataBytesMax: (principal: OrganizationPrincipal) => number;
  /** Maximum charged bytes of one model call of an organization. */
  readonly modelBytesMax: (principal: OrganizationPrincipal) => number;
  /** Returns null when the server is ready, else the reason as a sentence. */
  readonly notReadyReason: () => string | null;
  /**
   * Resolves when the server is ready. Requests wait for it, at most for `startMsMax`, instead of being rejected; null or
   * absent: they are rejected.
   */
  readonly started?: Promise<void> | null;
  readonly readiness: () => Readiness;
  readonly dashboard: Dashboard;
  /** Null or absent: no request is traced. */
  readonly tracer?: Pick<Tracer, 'startRequest'> | null;
  readonly metrics: Metrics;
  readonly settings: RequestHandlerSettings;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly scheduler: Pick<EventLoopScheduler, 'createYield'>;
  /** Scheduler for large bodies while they arrive. */
  readonly bodyScheduler: Pick<EventLoopScheduler, 'createYield'>;
  readonly largeBodies: Pick<LargeBodyReader, 'prepare'>;
  readonly random: Random;
  /** API version. */
  readonly version: string;
  /** Enabled by tests: a reply that does not match its documented schema becomes a failure. */
  readonly validateReplies?: boolean;
}
