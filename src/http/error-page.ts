import type { AppError } from '../core/app-error.ts';
import { escapeHtml, htmlPagePolicy, renderHtmlPage } from '../core/html-page.ts';
import type { Exchange, Reply } from './exchange.ts';

/** HTML error pages for people who followed a link or sent a form; programs get the same error as JSON. */

const errorTitles: Readonly<Record<number, string>> = {
  401: 'Sign-in required',
  403: 'Access denied',
  404: 'Page not found',
  429: 'Too many requests',
  502: 'Upstream service unavailable',
  503: 'Temporarily unavailable',
};

/** Browsers accept HTML when they open a page; scripts and API clients do not. */
export function acceptsHtml(exchange: Exchange): boolean {
  return /\btext\/html\b/i.test(exchange.header('accept') ?? '');
}

/** Renders the error as a page, with the status and headers of its JSON reply. */
export function errorPage(error: AppError, { status, headers }: Reply): Reply {
  const message = error.options.issues?.map(({ loc, msg }) => `${loc.join('.')} ${msg}.`).join(' ');
  const title = errorTitles[status] ?? 'Request failed';
  const body = `<div class="card">
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(message ?? error.message)}</p>
<a class="button" href="/app/">Go to the dashboard</a>
</div>`;
  return {
    status,
    headers: {
      ...headers,
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': htmlPagePolicy,
      'referrer-policy': 'no-referrer',
    },
    body: Buffer.from(renderHtmlPage({ title: `${title} · Quarry`, body })),
  };
}
