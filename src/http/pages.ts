import type { Metrics } from '../core/metrics.ts';
import type { Dashboard } from './dashboard.ts';
import { DocsSite } from './docs/docs-site.ts';
import { docsPolicy } from './docs/page-frame.ts';
import type { Exchange, Reply } from './exchange.ts';
import { accountApiInfo, createOpenApiDocument } from './openapi.ts';
import { parseQuery } from './pipeline/body-fields.ts';
import { jsonReply, textReply } from './replies.ts';
import type { PageRoute, Route } from './routes/route.ts';
import { StaticFile, staticFileReply } from './static-file.ts';

/** Body of `/readyz`: one entry per component, including optional tools. */
export interface Readiness {
  readonly ready: boolean;
  readonly components: Readonly<Record<string, { readonly ready: boolean; readonly detail?: string }>>;
}

export interface PagesOptions {
  readonly routes: readonly Route[];
  /** API version. */
  readonly version: string;
  /** Redirect target of `/`. */
  readonly home: string;
  readonly dashboard: Dashboard;
  readonly metrics: Metrics;
  readonly readiness: () => Readiness;
}

/** A request for a page. */
export interface PageRequest {
  readonly exchange: Exchange;
  /** Path parameters. */
  readonly params: Readonly<Record<string, string>>;
  readonly isDraining: boolean;
}

type StaticPage = Extract<PageRoute['page'], 'openapi' | 'account-openapi'>;

/**
 * Serves the dashboard and the pages about the server itself. Static pages are rendered once, on first use.
 */
export class Pages {
  readonly #options: PagesOptions;
  readonly #staticPages = new Map<StaticPage, StaticFile>();
  #docs: DocsSite | null = null;

  constructor(options: PagesOptions) {
    this.#options = options;
  }

  /** Errors: 404 for a dashboard file that does not exist. */
  async reply(page: PageRoute['page'], { exchange, params, isDraining }: PageRequest): Promise<Reply> {
    const { home, dashboard } = this.#options;
    switch (page) {
      case 'home':
      case 'dashboard-entry':
        return textReply(302, 'text/plain; charset=utf-8', `${home}\n`, { location: home });
      case 'dashboard':
        return dashboard.servePage(exchange);
      case 'asset':
        return dashboard.serveAsset(exchange, params.file_path ?? '');
      case 'healthz':
        return jsonReply(200, { status: 'ok' });
      case 'readyz':
        return this.#readyz(isDraining);
      case 'metrics':
        return textReply(200, this.#options.metrics.contentType, await this.#options.metrics.text());
      case 'openapi':
      case 'account-openapi':
        return this.#staticPage(page, exchange);
      case 'docs':
        return this.#documentation('', exchange);
      case 'documentation':
        return this.#documentation(params['*'] ?? '', exchange);
    }
  }

  #staticPage(page: StaticPage, exchange: Exchange): Promise<Reply> {
    const file = this.#staticPages.get(page) ?? renderStaticPage(page, this.#options);
    this.#staticPages.set(page, file);
    return staticFileReply(exchange, file, { 'cache-control': 'no-cache' });
  }

  /** Errors: 404 for a page that does not exist, 400 for a search that is too long. */
  #documentation(path: string, exchange: Exchange): Reply {
    this.#docs ??= new DocsSite(this.#options.routes);
    const html =
      path === 'search' ? this.#docs.search(parseQuery(exchange).get('q') ?? '') : this.#docs.page(path);
    return textReply(200, 'text/html; charset=utf-8', html, {
      'content-security-policy': docsPolicy,
      'referrer-policy': 'no-referrer',
    });
  }

  #readyz(isDraining: boolean): Reply {
    const { ready, components } = this.#options.readiness();
    const status = isDraining ? 'stopping' : ready ? 'ready' : 'starting';
    const headers = { 'retry-after': '1', 'retry-after-ms': '1000' };
    return jsonReply(
      status === 'ready' ? 200 : 503,
      { status, components },
      status === 'ready' ? {} : headers,
    );
  }
}

function renderStaticPage(page: StaticPage, { routes, version }: PagesOptions): StaticFile {
  const isAccount = (route: Route) => route.kind === 'account';
  const document =
    page === 'openapi'
      ? createOpenApiDocument(
          routes.filter((route) => !isAccount(route)),
          version,
        )
      : createOpenApiDocument(routes.filter(isAccount), version, accountApiInfo);
  return new StaticFile('application/json', Buffer.from(JSON.stringify(document)));
}
