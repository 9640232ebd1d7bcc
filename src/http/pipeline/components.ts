import type { ConcurrencyLimiter } from '../../admission/concurrency-limiter.ts';
import type { SlidingWindowLimiter } from '../../admission/sliding-window-limiter.ts';
import type { UploadLimiter } from '../../admission/upload-limiter.ts';
import type { ListenerName } from '../listen-error.ts';
import type { McpLoader } from '../mcp.ts';
import type { Pages } from '../pages.ts';
import type { RequestBodyReader } from '../request-body-reader.ts';
import type { RequestHandlerOptions } from '../request-handler-options.ts';
import type { RouteSchemas } from '../route-schemas.ts';
import type { Router } from '../router.ts';
import type { ActiveRequests } from './active-requests.ts';

/** Components that the steps of the request pipeline share; constructed by `RequestHandler`. */
export interface PipelineComponents {
  readonly options: RequestHandlerOptions;
  readonly routers: Readonly<Record<ListenerName, Router>>;
  readonly schemas: RouteSchemas;
  readonly pages: Pages;
  readonly mcp: McpLoader;
  readonly bodies: RequestBodyReader;
  readonly activeRequests: ActiveRequests;
  readonly concurrency: ConcurrencyLimiter;
  readonly uploads: UploadLimiter;
  /** Webhook calls by address. */
  readonly webhooks: SlidingWindowLimiter;
}
