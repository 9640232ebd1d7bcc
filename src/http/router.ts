import createFindMyWay from 'find-my-way';
import { AppError } from '../base/app-error.ts';
import { assert } from '../base/assert.ts';
import type { Method } from './route-words.ts';
import type { Route } from './routes.ts';

export interface Match {
  readonly route: Route;
  /** Decoded parts of the path; the rest of the path is `*`. */
  readonly params: Readonly<Record<string, string>>;
}

const methods: readonly Method[] = ['GET', 'POST', 'PUT'];

/** Finds the route of a request. Every operation is served under `/v1` and at the root. */
export class Router {
  readonly #router = createFindMyWay({ maxParamLength: 65_536 });

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      for (const prefix of route.versioned ? ['/v1', ''] : ['']) {
        this.#router.on(route.method, `${prefix}${route.path}`, () => {}, { route });
      }
    }
  }

  /** Errors: `not_found`; `method_not_allowed` with `allow`; `bad_request` for a path that is not percent-encoded UTF-8. */
  find(method: string, path: string): Match {
    if (!isDecodable(path))
      throw new AppError('bad_request', 'The path of the request is not percent-encoded UTF-8.');
    const wanted = method === 'HEAD' ? 'GET' : method;
    const known = methods.find((each) => each === wanted);
    const match = known && this.#match(known, path);
    if (match) return match;
    const allowed = methods.filter((each) => this.#match(each, path) !== null);
    if (allowed.length === 0)
      throw new AppError('not_found', 'This address does not exist. See /docs for those that do.');
    const allow = allowed.flatMap((each) => (each === 'GET' ? ['GET', 'HEAD'] : [each])).join(', ');
    throw new AppError('method_not_allowed', `This address takes ${allow}, not ${method.slice(0, 32)}.`, {
      headers: { allow },
    });
  }

  #match(method: Method, path: string): Match | null {
    const found = this.#router.find(method, path);
    if (!found) return null;
    const { route } = found.store as { route: Route };
    assert(route.method === method, 'the router finds what was registered');
    return { route, params: found.params as Record<string, string> };
  }
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false; // the only thing that decodeURIComponent throws is URIError, for a malformed sequence
  }
}
