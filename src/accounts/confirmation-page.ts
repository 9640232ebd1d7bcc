import { escaped, plainPage } from '../base/plain-page.ts';

/** A page with one button. Nothing in it needs a script, and nothing but the escaped values comes from a request. */
export function confirmationPage(shown: {
  readonly action: string;
  readonly token: string;
  readonly confirmation: string;
  readonly who: string;
}): string {
  const { action, token, confirmation, who } = shown;
  const body = `<div class="card">
<h1>Sign in to Quarry</h1>
<p>You are about to sign in as <strong>${escaped(who)}</strong>.</p>
<form method="post" action="${escaped(action)}">
<input type="hidden" name="token" value="${escaped(token)}">
<input type="hidden" name="confirmation" value="${escaped(confirmation)}">
<button type="submit">Sign in</button>
</form>
<p class="soft">If you did not ask for this link, close this page: nobody has signed in.</p>
</div>`;
  return plainPage({ title: 'Sign in to Quarry', body });
}
