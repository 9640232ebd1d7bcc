import { escapeHtml, renderHtmlPage } from '../core/html-page.ts';

/**
 * Renders a page with one button. Needs no script; the escaped values are the only parts taken from a
 * request.
 */
export function renderConfirmationPage(options: {
  readonly action: string;
  readonly token: string;
  readonly confirmation: string;
  readonly accountLabel: string;
}): string {
  const { action, token, confirmation, accountLabel } = options;
  const body = `<div class="card">
<h1>Sign in to Quarry</h1>
<p>You are about to sign in as <strong>${escapeHtml(accountLabel)}</strong>.</p>
<form method="post" action="${escapeHtml(action)}">
<input type="hidden" name="token" value="${escapeHtml(token)}">
<input type="hidden" name="confirmation" value="${escapeHtml(confirmation)}">
<button type="submit">Sign in</button>
</form>
<p class="soft">If you did not request this link, close this page. You have not been signed in.</p>
</div>`;
  return renderHtmlPage({ title: 'Sign in to Quarry', body });
}
