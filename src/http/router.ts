import createFindMyWay from 'find-my-way';
import { AppError } from '../core/app-error.ts';
import { assert } from '../core/assert.ts';
import type { Route } from './routes/route.ts';
import type { HttpMethod } from './routes/route-description.ts';

export interface RouteMatch {
  readonly route: Route;
  /** Decoded path parameters; the rest of the path is `*`. */
  readonly params: Readonly<Record<string, string>>;
}

const methods: readonly HttpMethod[] = ['GET', 'POST', 'PUT'];

/** Finds the route of a request. Versioned operations are served under `/v1` and at the root. */
export class Router {
  readonly #router = createFindMyWay({ maxParamLength: 65_536 });

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      for (const prefix of route.isVersioned ? ['/v1', ''] : ['']) {
        this.#router.on(route.method, `${prefix}${route.path}`, () => {}, { route });
      }
    }
  }

  /**
   * Errors: `not_found`; `method_not_allowed` with `allow`; `bad_request` for a path that is not
   * percent-encoded UTF-8.
   */
  find(method: string, path: string): RouteMatch {
    if (!isDecodable(path))
      throw new AppError('bad_request', 'The path of the request is not percent-encoded UTF-8.');
    const getMethod = method === 'HEAD' ? 'GET' : method;
    const supportedMethod = methods.find((each) => each === getMethod);
    const match = supportedMethod && this.#match(supportedMethod, path);
    if (match) return match;
    const allowed = methods.filter((each) => this.#match(each, path) !== null);
    if (allowed.length === 0)
      throw new AppError('not_found', 'The requested path does not exist. See /docs for all operations.');
    const allow = allowed.flatMap((each) => (each === 'GET' ? ['GET', 'HEAD'] : [each])).join(', ');
    throw new AppError('method_not_allowed', `Method ${method.slice(0, 32)} is not allowed. Use ${allow}.`, {
      headers: { allow },
    });
  }

  #match(method: HttpMethod, path: string): RouteMatch | null {
    const match = this.#router.find(method, path);
    if (!match) return null;
    const { route } = match.store as { route: Route };
    assert(route.method === method, 'the router finds every registered route');
    return { route, params: match.params as Record<string, string> };
  }
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false; // decodeURIComponent throws only URIError, for a malformed sequence
  }
}
