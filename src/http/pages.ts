import type { Metrics } from '../base/metrics.ts';
import type { Dashboard } from './dashboard.ts';
import { docsPage, docsPolicy } from './docs.ts';
import type { Exchange, Reply } from './exchange.ts';
import { accountWords, openApi } from './openapi.ts';
import { jsonReply, textReply } from './replies.ts';
import type { PageRoute, Route } from './routes.ts';

/** What `/readyz` tells: one entry per component, and optional tools among them. */
export interface Readiness {
  readonly ready: boolean;
  readonly components: Readonly<Record<string, { readonly ready: boolean; readonly detail?: string }>>;
}

export interface PagesOptions {
  readonly routes: readonly Route[];
  /** Version of the API. */
  readonly version: string;
  /** Where `/` leads. */
  readonly home: string;
  readonly dashboard: Dashboard;
  readonly metrics: Metrics;
  readonly readiness: () => Readiness;
}

/** A request for a page. */
export interface PageVisit {
  readonly exchange: Exchange;
  /** Parts of the path. */
  readonly params: Readonly<Record<string, string>>;
  readonly draining: boolean;
}

type FixedPage = Extract<PageRoute['page'], 'openapi' | 'account-openapi' | 'docs'>;

/** The dashboard, and what the server says about itself. The fixed pages are made once, when somebody asks for them. */
export class Pages {
  readonly #options: PagesOptions;
  readonly #fixed = new Map<FixedPage, Reply>();

  constructor(options: PagesOptions) {
    this.#options = options;
  }

  /** Errors: 404 for a file that there is not. */
  async reply(page: PageRoute['page'], { exchange, params, draining }: PageVisit): Promise<Reply> {
    const { home, dashboard } = this.#options;
    switch (page) {
      case 'home':
      case 'dashboard-entry':
        return textReply(302, 'text/plain; charset=utf-8', `${home}\n`, { location: home });
      case 'dashboard':
        return dashboard.page(exchange);
      case 'asset':
        return dashboard.asset(exchange, params.file_path ?? '');
      case 'healthz':
        return jsonReply(200, { status: 'ok' });
      case 'readyz':
        return this.#readyz(draining);
      case 'metrics':
        return textReply(200, this.#options.metrics.contentType, await this.#options.metrics.text());
      case 'openapi':
      case 'account-openapi':
      case 'docs':
        return this.#fixedPage(page);
    }
  }

  #fixedPage(page: FixedPage): Reply {
    const made = this.#fixed.get(page) ?? fixedPage(page, this.#options);
    this.#fixed.set(page, made);
    return made;
  }

  #readyz(draining: boolean): Reply {
    const { ready, components } = this.#options.readiness();
    const status = draining ? 'stopping' : ready ? 'ready' : 'starting';
    const headers = { 'retry-after': '1', 'retry-after-ms': '1000' };
    return jsonReply(
      status === 'ready' ? 200 : 503,
      { status, components },
      status === 'ready' ? {} : headers,
    );
  }
}

function fixedPage(page: FixedPage, { routes, version }: PagesOptions): Reply {
  const isAccount = (route: Route) => route.kind === 'account';
  switch (page) {
    case 'openapi':
      return jsonReply(
        200,
        openApi(
          routes.filter((route) => !isAccount(route)),
          version,
        ),
      );
    case 'account-openapi':
      return jsonReply(200, openApi(routes.filter(isAccount), version, accountWords));
    case 'docs':
      return textReply(200, 'text/html; charset=utf-8', docsPage(routes), {
        'content-security-policy': docsPolicy,
        'referrer-policy': 'no-referrer',
      });
  }
}
