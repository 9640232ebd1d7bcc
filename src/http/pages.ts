import type { Metrics } from '../base/metrics.ts';
import { docsPage, docsPolicy } from './docs.ts';
import type { Reply } from './exchange.ts';
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
  /** Where `/` leads: the dashboard when there is one, else the documentation. */
  readonly home: string;
  readonly metrics: Metrics;
  readonly readiness: () => Readiness;
}

/** What the server says about itself. The fixed pages are made once. */
export class Pages {
  readonly #options: PagesOptions;
  readonly #openApi: Reply;
  readonly #accountOpenApi: Reply;
  readonly #docs: Reply;

  constructor(options: PagesOptions) {
    this.#options = options;
    const isAccount = (route: Route) => route.kind === 'account';
    const [accounts, retrieval] = [
      options.routes.filter(isAccount),
      options.routes.filter((route) => !isAccount(route)),
    ];
    this.#openApi = jsonReply(200, openApi(retrieval, options.version));
    this.#accountOpenApi = jsonReply(200, openApi(accounts, options.version, accountWords));
    this.#docs = textReply(200, 'text/html; charset=utf-8', docsPage(options.routes), {
      'content-security-policy': docsPolicy,
      'referrer-policy': 'no-referrer',
    });
  }

  async reply(page: PageRoute['page'], draining: boolean): Promise<Reply> {
    switch (page) {
      case 'home':
        return textReply(302, 'text/plain; charset=utf-8', `${this.#options.home}\n`, {
          location: this.#options.home,
        });
      case 'healthz':
        return jsonReply(200, { status: 'ok' });
      case 'readyz':
        return this.#readyz(draining);
      case 'metrics':
        return textReply(200, this.#options.metrics.contentType, await this.#options.metrics.text());
      case 'openapi':
        return this.#openApi;
      case 'account-openapi':
        return this.#accountOpenApi;
      case 'docs':
        return this.#docs;
    }
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
