import { createHash } from 'node:crypto';

/**
 * HTML pages rendered by the server: a confirmation before a sign-in, an error shown in a browser, the
 * documentation. They match the dashboard and need no script and no external resource.
 */

const pageStyle = `
:root{color-scheme:light dark;--page:light-dark(#fff,#101215);--raised:light-dark(#fff,#181b1f);--sunken:light-dark(#f4f5f7,#15181c);--line:light-dark(#e3e6ea,#272c33);--text:light-dark(#14171c,#eceef1);--soft:light-dark(#58606c,#a0a8b3);--accent:light-dark(#1d4fd7,#86a8ff);--accent-fill:light-dark(#1d4fd7,#2f62ea)}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:.875rem/1.5 Inter,ui-sans-serif,system-ui,-apple-system,"Segoe UI","Helvetica Neue","Liberation Sans",Arial,sans-serif;-webkit-font-smoothing:antialiased}
a{color:var(--accent)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:4px}
h1{font-size:1.375rem;font-weight:600;line-height:1.25;letter-spacing:-.015em;margin:0}
code,pre{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"Liberation Mono",monospace;font-size:.9em}
.soft{color:var(--soft)}
.card{max-width:25rem;margin:18vh auto 0;padding:1.75rem;background:var(--raised);border:1px solid var(--line);border-radius:12px;overflow-wrap:anywhere}
.card p{margin:.75rem 0 0}
.card button,.card .button{display:block;width:100%;margin:1.25rem 0 0;padding:.5rem 1rem;border:0;border-radius:6px;background:var(--accent-fill);color:#fff;font:inherit;font-weight:500;text-align:center;text-decoration:none;cursor:pointer}
@media(max-width:30rem){.card{margin:0;border:0;border-radius:0;padding:1.5rem 1rem}}
`;

/** Content Security Policy of a page: only its own style, and forms that post back to this server. */
export const htmlPagePolicy = createHtmlPagePolicy();

/** Content Security Policy of a page with additional styles. */
export function createHtmlPagePolicy(...extraStyles: readonly string[]): string {
  const hashes = [pageStyle, ...extraStyles].map(
    (each) => `'sha256-${createHash('sha256').update(each).digest('base64')}'`,
  );
  return `default-src 'none'; style-src ${hashes.join(' ')}; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`;
}

/** Renders a page. `body` is HTML with all variable parts already escaped; `title` is plain text. */
export function renderHtmlPage({
  title,
  body,
  extraStyle,
}: {
  readonly title: string;
  readonly body: string;
  /**
   * CSS in addition to the common style; the page then needs the policy of
   * `createHtmlPagePolicy(extraStyle)`.
   */
  readonly extraStyle?: string;
}): string {
  const extraStyleElement = extraStyle === undefined ? '' : `<style>${extraStyle}</style>\n`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<style>${pageStyle}</style>
${extraStyleElement}</head>
<body>
<main>
${body}
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

/** Escapes text for use in HTML. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}
