/** Properties of the client of a request, other than its identity. */
export interface ClientInfo {
  /** Client address; with `trustProxy`, the address reported by the proxy. */
  readonly address: string;
  /** Truncated to the stored length. */
  readonly userAgent: string;
  /**
   * Returns the value of a cookie of the account endpoints, if present. Errors: 403 for a session cookie on a
   * cross-site request.
   */
  readonly cookie: (name: CookieName) => string | undefined;
  /**
   * Returns the current session of this browser, even on a cross-site request, so that it is ended when a new
   * session replaces it.
   */
  readonly sessionToReplace: (name: 'session' | 'admin') => string | undefined;
  /** `https://host:port` of this server as seen by the request. Errors: 400 for an invalid Host header. */
  readonly origin: () => string;
  /** Bearer token of the request, not validated. */
  readonly bearer: string | undefined;
  /** `Idempotency-Key` header, not validated. */
  readonly idempotencyKey: string | undefined;
  /** Whether a browser sent the request. A sign-in then sets a cookie that scripts cannot read. */
  readonly isBrowser: boolean;
  /** Whether a program asked for JSON. It receives a token instead of a cookie and a redirect. */
  readonly wantsJson: boolean;
}

/**
 * Cookies of the account endpoints. Over https their names start with `__Host-`, so that other sites cannot
 * set them.
 */
export type CookieName =
  | 'session'
  | 'admin'
  | 'sign-in'
  | 'confirmation'
  | 'flow'
  | 'second-factor'
  | 'marketplace';

export interface ResponseCookie {
  readonly name: CookieName;
  /** Null deletes the cookie. */
  readonly value: string | null;
  readonly maxAgeSeconds: number;
}

interface Cookies {
  readonly cookie?: ResponseCookie;
  /** Remaining values of cookies of completed steps; mostly deletions. */
  readonly earlierCookies?: readonly ResponseCookie[];
}

/** Response of an account endpoint: JSON, an HTML page, or a redirect. */
export type AccountResponse<Body> = Cookies &
  (
    | { readonly kind: 'json'; readonly body: Body }
    | { readonly kind: 'page'; readonly html: string }
    | { readonly kind: 'redirect'; readonly to: string; readonly status?: 302 | 303 }
  );
