import { AssertionError, assert } from '../core/assert.ts';
import { type Cleaner, createCleaner } from '../schemas/cleaner.ts';
import { compileValidator, type Validator } from '../schemas/validate.ts';
import type { ServiceReply } from '../services/call.ts';
import { RenderedJson } from '../services/rendered-json.ts';
import type { AccountRoute } from './routes/account-route.ts';
import type { JsonRoute, Route } from './routes/route.ts';

type SchemaRoute = JsonRoute | AccountRoute;

/** Compiled schemas of all routes. */
export class RouteSchemas {
  readonly #requestValidators = new Map<SchemaRoute, Validator<unknown>>();
  readonly #replyValidators = new Map<SchemaRoute, Validator<unknown>>();
  readonly #cleaners = new Map<SchemaRoute, Cleaner>();

  constructor(routes: readonly Route[], { validateReplies }: { readonly validateReplies: boolean }) {
    for (const route of routes) {
      if (route.kind !== 'json' && route.kind !== 'account') continue;
      const isQuery = route.kind === 'account' && route.inputSource === 'query';
      this.#requestValidators.set(route, compileValidator(route.request, [isQuery ? 'query' : 'body']));
      const clean = route.kind === 'json' ? createCleaner(route.request) : null;
      if (clean !== null) this.#cleaners.set(route, clean);
      if (validateReplies) this.#replyValidators.set(route, compileValidator(route.reply, ['reply']));
    }
  }

  /** Errors: 422 with the issues. */
  validateRequest(route: SchemaRoute, request: unknown): unknown {
    const validate = this.#requestValidators.get(route);
    assert(validate, 'every route with a schema has it compiled');
    return validate(request);
  }

  /** Returns a valid request without unknown fields; the request itself when it has none. */
  clean(route: JsonRoute, request: unknown): unknown {
    return this.#cleaners.get(route)?.(request) ?? request;
  }

  /**
   * Active only with `validateReplies`. A mismatch is a server bug, so it becomes a 500 and not a validation
   * error.
   */
  checkReply(route: SchemaRoute, reply: ServiceReply<unknown>): void {
    const validate = this.#replyValidators.get(route);
    if (!validate) return;
    assert(
      route.successStatuses.includes(reply.status),
      `${route.operation} replies with a documented status`,
    );
    try {
      validate(reply.body instanceof RenderedJson ? reply.body.parse() : reply.body);
    } catch (error) {
      throw new AssertionError(`${route.operation} replies with its documented schema`, { cause: error });
    }
  }
}
