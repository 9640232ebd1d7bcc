import type { Reply } from '../exchange.ts';
import type { PreflightRoute, Route } from '../routes/route.ts';

/** Handles one request of one kind of route. The steps of the same names call its methods in this order. */
export interface RouteHandler {
  readonly route: Route | PreflightRoute;
  /** Milliseconds for the call. */
  readonly msMax: number;
  readBody(): Promise<void>;
  /** Errors: 422 for a request of another shape than the schema, 400 for one that breaks a rule. */
  validate(): void;
  callService(): Promise<void>;
  renderReply(): Reply;
  /** Frees what the request holds; called once, however it ends. */
  release(): void;
}
