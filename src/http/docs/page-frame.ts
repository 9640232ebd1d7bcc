import { createHtmlPagePolicy, escapeHtml, renderHtmlPage } from '../../core/html-page.ts';

const docsStyle = `
.top{position:sticky;top:0;z-index:1;display:flex;flex-wrap:wrap;gap:.5rem 1.25rem;align-items:center;padding:.6rem 1.25rem;background:var(--page);border-bottom:1px solid var(--line)}
.top strong{font-weight:600;margin-right:auto}
.top input,.top button{font:inherit;color:inherit;background:var(--raised);border:1px solid var(--line);border-radius:6px;padding:.25rem .6rem}
.columns{display:grid;grid-template-columns:15rem minmax(0,1fr);max-width:76rem;margin:0 auto}
.columns>nav{padding:1.25rem;border-right:1px solid var(--line)}
.columns>nav h2{font-size:.8125rem;margin:1.25rem 0 .25rem;color:var(--soft)}
.columns>nav ul{margin:0;padding:0;list-style:none}.columns>nav a{text-decoration:none;line-height:1.9}.columns>nav a:hover{text-decoration:underline}
[aria-current]{font-weight:600}
.docs{padding:2rem 1.5rem 6rem}
.docs h2{font-size:1rem;font-weight:600;margin:2.25rem 0 .5rem}.docs h3{font-size:.9375rem;font-weight:600;margin:1.5rem 0 .5rem}
.docs [id]{scroll-margin-top:4rem}
code,pre{background:var(--sunken);border-radius:4px}
li,h1,h2,h3{overflow-wrap:anywhere}code{padding:.1em .3em;overflow-wrap:anywhere}pre{padding:.75rem 1rem;overflow-x:auto}pre code{padding:0;background:none;overflow-wrap:normal}
section{border:1px solid var(--line);border-radius:10px;background:var(--raised);padding:1rem 1.25rem;margin:.75rem 0}
.docs section h2{margin-top:0}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;margin:.5rem 0 .75rem;font-size:.8125rem}
td:first-child code{overflow-wrap:normal}
th,td{text-align:left;vertical-align:top;padding:.4rem .75rem .4rem 0;border-top:1px solid var(--line)}th{color:var(--soft);font-weight:500}
summary{cursor:pointer;color:var(--soft)}
@media(max-width:48rem){.columns{grid-template-columns:minmax(0,1fr)}.columns>nav{border-right:0;border-bottom:1px solid var(--line)}section{padding:.75rem}}
`;

export const docsPolicy = createHtmlPagePolicy(docsStyle);

export interface NavigationSection {
  readonly title: string;
  readonly links: readonly { readonly title: string; readonly address: string }[];
}

interface FramedPage {
  readonly title: string;
  readonly address: string;
  /** HTML with all variable parts already escaped. */
  readonly html: string;
  readonly navigation: readonly NavigationSection[];
  readonly query?: string;
}

/** Renders a page of the documentation with the sidebar and the search box. */
export function renderFrame({ title, address, html, navigation, query = '' }: FramedPage): string {
  const sections = navigation.map((section) => {
    const links = section.links.map(
      (link) =>
        `<li><a href="${escapeHtml(link.address)}"${link.address === address ? ' aria-current="page"' : ''}>${escapeHtml(link.title)}</a></li>`,
    );
    return `<h2>${escapeHtml(section.title)}</h2><ul>${links.join('')}</ul>`;
  });
  const search = `<form action="/docs/search" role="search"><input type="search" name="q" aria-label="Search the documentation" placeholder="Search" maxlength="200" value="${escapeHtml(query)}"> <button>Search</button></form>`;
  const body = `<div class="top"><strong><a href="/docs">Quarry documentation</a></strong>${search}<a href="/app/">Dashboard</a><a href="/openapi.json">OpenAPI</a></div>
<div class="columns"><nav aria-label="Documentation">${sections.join('')}</nav>
<div class="docs">${html}</div></div>`;
  return renderHtmlPage({ title: `${title} · Quarry`, body, extraStyle: docsStyle });
}
