/** What is known of whoever sent a request, beside who they are. */
export interface ClientInfo {
  /** Of the client; with `trustProxy` the one that the proxy names. */
  readonly address: string;
  /** Cut to what is worth keeping. */
  readonly userAgent: string;
  /** Value of a cookie of the account side, where the request has it. 403 for a session's that another site sends along. */
  readonly cookie: (name: CookieName) => string | undefined;
  /** The session that this browser held until now, whoever made it ask: to be ended when another takes its place. */
  readonly sessionToReplace: (name: 'session' | 'admin') => string | undefined;
  /** The bearer token of the request, whatever it is worth. */
  readonly bearer: string | undefined;
  /** The `Idempotency-Key` header, whatever it is worth. */
  readonly idempotencyKey: string | undefined;
  /** A browser sent it: what signs in becomes a cookie that no script can read. */
  readonly isBrowser: boolean;
  /** True for a program that asked for JSON, so it gets a token instead of a cookie and a redirection. */
  readonly wantsJson: boolean;
}

/** Cookies of the account side. Over https their names begin with `__Host-`, so that no other site can set them. */
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
  /** Null takes it away. */
  readonly value: string | null;
  readonly maxAgeSeconds: number;
}

interface Cookies {
  readonly cookie?: ResponseCookie;
  /** Cookies of an earlier step that has done its work: what is left of them, mostly nothing. */
  readonly earlierCookies?: readonly ResponseCookie[];
}

/** What an operation of the account side answers: JSON, a page for people, or another address. */
export type AccountResponse<Body> = Cookies &
  (
    | { readonly kind: 'json'; readonly body: Body }
    | { readonly kind: 'page'; readonly html: string }
    | { readonly kind: 'redirect'; readonly to: string; readonly status?: 302 | 303 }
  );
