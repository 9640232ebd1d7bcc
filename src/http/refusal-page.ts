import type { AppError } from '../base/app-error.ts';
import { escaped, plainPage, plainPagePolicy } from '../base/plain-page.ts';
import type { Exchange, Reply } from './exchange.ts';

/** A refusal for somebody who followed a link or sent a form: programs get the same as JSON. */

const titles: Readonly<Record<number, string>> = {
  401: 'Sign in first',
  403: 'You may not do this',
  404: 'There is nothing here',
  429: 'Too much at once',
  502: 'Somebody else does not answer',
  503: 'Not just now',
};

/** A browser asks so when it opens a page; scripts of pages and programs do not. */
export function wantsPage(exchange: Exchange): boolean {
  return /\btext\/html\b/i.test(exchange.header('accept') ?? '');
}

/** With the status and headers of the refusal, the same words for people. */
export function refusalPage(error: AppError, { status, headers }: Reply): Reply {
  const words = error.options.issues?.map(({ loc, msg }) => `${loc.join('.')} ${msg}.`).join(' ');
  const title = titles[status] ?? 'That did not work';
  const body = `<div class="card">
<h1>${escaped(title)}</h1>
<p>${escaped(words ?? error.message)}</p>
<a class="button" href="/app/">Go to the dashboard</a>
</div>`;
  return {
    status,
    headers: {
      ...headers,
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': plainPagePolicy,
      'referrer-policy': 'no-referrer',
    },
    body: Buffer.from(plainPage({ title: `${title} · Quarry`, body })),
  };
}
