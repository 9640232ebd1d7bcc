/** A page with one button. Nothing in it needs a script, and nothing but the escaped values comes from a request. */
export function confirmationPage(shown: {
  readonly action: string;
  readonly token: string;
  readonly confirmation: string;
  readonly who: string;
}): string {
  const { action, token, confirmation, who } = shown;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Sign in to Quarry</title>
</head>
<body>
<main>
<h1>Sign in to Quarry</h1>
<p>You are about to sign in as <strong>${escaped(who)}</strong>.</p>
<form method="post" action="${escaped(action)}">
<input type="hidden" name="token" value="${escaped(token)}">
<input type="hidden" name="confirmation" value="${escaped(confirmation)}">
<button type="submit">Sign in</button>
</form>
<p>If you did not ask for this link, close this page: nobody has signed in.</p>
</main>
</body>
</html>
`;
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}
