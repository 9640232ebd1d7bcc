import { createHtmlPagePolicy, escapeHtml, renderHtmlPage } from '../core/html-page.ts';
import { errorResponsesOf, openApiPath } from './openapi.ts';
import type { Route } from './routes/route.ts';

const docsStyle = `
.top{position:sticky;top:0;display:flex;gap:1.25rem;align-items:center;padding:.6rem 1.25rem;background:var(--page);border-bottom:1px solid var(--line)}
.top strong{font-weight:600;margin-right:auto}
.docs{max-width:56rem;margin:0 auto;padding:2rem 1.25rem 6rem;scroll-padding-top:4rem}
h2{font-size:1rem;font-weight:600;margin:3rem 0 .75rem}h2::first-letter{text-transform:uppercase}
h3{font-size:.9375rem;font-weight:600;margin:0}
code,pre{background:var(--sunken);border-radius:4px}
code{padding:.1em .3em;overflow-wrap:anywhere}pre{padding:.75rem 1rem;white-space:pre-wrap;overflow-wrap:anywhere}pre code{padding:0;background:none}
section{border:1px solid var(--line);border-radius:10px;background:var(--raised);padding:1rem 1.25rem;margin:.75rem 0;scroll-margin-top:4rem}
table{border-collapse:collapse;width:100%;margin:.5rem 0 .75rem;font-size:.8125rem}
th,td{text-align:left;vertical-align:top;padding:.4rem .75rem .4rem 0;border-top:1px solid var(--line)}th{color:var(--soft);font-weight:500}
summary{cursor:pointer;color:var(--soft)}
nav ul{columns:2;padding:0;list-style:none}nav a{text-decoration:none;line-height:1.9}nav a:hover{text-decoration:underline}
td:last-child{overflow-wrap:anywhere}td:first-child code{overflow-wrap:normal}
@media(max-width:40rem){nav ul{columns:1}section{padding:.75rem}td,td:first-child code{overflow-wrap:anywhere}}
`;

export const docsPolicy = createHtmlPagePolicy(docsStyle);

interface JsonSchema {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

/** Renders the route table as one HTML page. */
export function renderDocsPage(routes: readonly Route[]): string {
  const visibleRoutes = routes.filter((route) => !(route.kind === 'page' && route.page === 'home'));
  const tags = [...new Set(visibleRoutes.map((route) => route.tag))];
  const contents = visibleRoutes
    .map((route) => `<li><a href="#${anchorOf(route)}">${escapeHtml(route.summary)}</a></li>`)
    .join('');
  const groups = tags.map((tag) => {
    const sections = visibleRoutes.filter((route) => route.tag === tag).map(renderSection);
    return `<h2 id="group-${tag}">${escapeHtml(tag)}</h2>${sections.join('')}`;
  });
  const lead =
    'Every path works with and without the prefix <code>/v1</code>. Send <code>Authorization: Bearer &lt;API key&gt;</code> and JSON bodies. An empty body is equivalent to <code>{}</code>; unknown fields are ignored. Errors have the form <code>{"detail": "..."}</code>. OpenAPI documents: <a href="/openapi.json">openapi.json</a> and <a href="/api/openapi.json">api/openapi.json</a>.';
  const body = `<div class="top"><strong>Quarry</strong><a href="/app/">Dashboard</a><a href="/openapi.json">OpenAPI</a></div>
<div class="docs"><h1>API</h1><p class="soft">${lead}</p><nav aria-label="Operations"><ul>${contents}</ul></nav>${groups.join('')}</div>`;
  return renderHtmlPage({ title: 'API · Quarry', body, extraStyle: docsStyle });
}

function anchorOf(route: Route): string {
  return route.kind === 'page' ? route.page : route.operation;
}

function renderSection(route: Route): string {
  const prefix = route.isVersioned ? '/v1' : '';
  const head = `<h3>${escapeHtml(route.summary)}</h3><p><code>${route.method} ${escapeHtml(prefix + openApiPath(route.path))}</code> <span class="soft">${describeCredential(route)}</span></p><p>${renderProse(route.description)}</p>`;
  const schemas =
    route.kind === 'json' || route.kind === 'account'
      ? `${renderExample(route.example)}${renderFields('Request', route.request as JsonSchema)}${renderFields('Reply', itemSchema(route.reply as JsonSchema))}`
      : '';
  return `<section id="${anchorOf(route)}">${head}${schemas}${renderErrorResponses(route)}</section>`;
}

function describeCredential(route: Route): string {
  switch (route.access) {
    case 'none':
      return 'no credential';
    case 'read':
      return 'any API key';
    case 'write':
      return 'an API key with permission all';
    case 'administrator':
      return 'the administrator key';
    case 'user':
      return 'a session';
  }
}

function renderExample(value: unknown): string {
  return `<pre><code>${escapeHtml(JSON.stringify(value, null, 2))}</code></pre>`;
}

/** A list reply is described by the schema of its items. */
function itemSchema(schema: JsonSchema): JsonSchema {
  return schema.type === 'array' && schema.items ? schema.items : schema;
}

function renderFields(heading: string, schema: JsonSchema): string {
  const rows = Object.entries(schema.properties ?? {}).map(([name, field]) => {
    const optionalMark = schema.required?.includes(name) ? '' : ' <span class="soft">optional</span>';
    const defaultField =
      field.default === undefined
        ? ''
        : ` <span class="soft">default <code>${escapeHtml(JSON.stringify(field.default))}</code></span>`;
    return `<tr><td><code>${escapeHtml(name)}</code>${optionalMark}</td><td>${escapeHtml(describeType(field))}</td><td>${renderProse(field.description ?? '')}${defaultField}${renderNestedFields(field)}</td></tr>`;
  });
  if (rows.length === 0) return '';
  return `<table><thead><tr><th scope="col">${heading}</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead><tbody>${rows.join('')}</tbody></table>`;
}

/** Describes the fields of an object nested in a field, one line per object type. */
function renderNestedFields(field: JsonSchema): string {
  const parts = (field.anyOf ?? [field.items ?? field]).filter((part) => part.properties);
  return parts
    .map(
      (part) =>
        `<br><code>{${escapeHtml(
          Object.entries(part.properties ?? {})
            .map(([name, each]) => `${name}: ${describeType(each)}`)
            .join(', '),
        )}}</code>`,
    )
    .join('');
}

function describeType(schema: JsonSchema): string {
  if (schema.anyOf) return [...new Set(schema.anyOf.map(describeType))].join(' or ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((word) => JSON.stringify(word)).join(', ');
  if (schema.type === 'array') return `list of ${describeType(schema.items ?? {})}`;
  return schema.type ?? 'any';
}

function renderErrorResponses(route: Route): string {
  const rows = [...errorResponsesOf(route)].map(
    ([status, description]) => `<tr><td>${status}</td><td>${renderProse(description)}</td></tr>`,
  );
  if (rows.length === 0) return '';
  return `<details><summary>Errors</summary><table><tbody>${rows.join('')}</tbody></table></details>`;
}

/** Escapes the text and renders text between backticks as `<code>`. */
function renderProse(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');
}
