import { operationNeeds } from '../access/authorise.ts';
import { escaped, plainPage, plainPagePolicyWith } from '../base/plain-page.ts';
import { openApiPath, refusalsOf } from './openapi.ts';
import type { Route } from './routes.ts';

const style = `
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

export const docsPolicy = plainPagePolicyWith(style);

interface Shape {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Shape[];
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
}

/** The route table as one page of HTML for people. */
export function docsPage(routes: readonly Route[]): string {
  const shown = routes.filter((route) => !(route.kind === 'page' && route.page === 'home'));
  const tags = [...new Set(shown.map((route) => route.tag))];
  const contents = shown
    .map((route) => `<li><a href="#${anchor(route)}">${escaped(route.summary)}</a></li>`)
    .join('');
  const groups = tags.map((tag) => {
    const sections = shown.filter((route) => route.tag === tag).map(section);
    return `<h2 id="group-${tag}">${escaped(tag)}</h2>${sections.join('')}`;
  });
  const lead =
    'Every address works under <code>/v1</code> and without it. Requests carry <code>Authorization: Bearer &lt;API key&gt;</code> and, where there is a body, JSON. An empty body counts as <code>{}</code>; unknown fields are ignored. Refusals are <code>{"detail": "..."}</code>. For programs: <a href="/openapi.json">openapi.json</a> and <a href="/api/openapi.json">api/openapi.json</a>.';
  const body = `<div class="top"><strong>Quarry</strong><a href="/app/">Dashboard</a><a href="/openapi.json">OpenAPI</a></div>
<div class="docs"><h1>API</h1><p class="soft">${lead}</p><nav aria-label="Operations"><ul>${contents}</ul></nav>${groups.join('')}</div>`;
  return plainPage({ title: 'API · Quarry', body, moreStyle: style });
}

function anchor(route: Route): string {
  return route.kind === 'page' ? route.page : route.operation;
}

function section(route: Route): string {
  const prefix = route.versioned ? '/v1' : '';
  const head = `<h3>${escaped(route.summary)}</h3><p><code>${route.method} ${escaped(prefix + openApiPath(route.path))}</code> <span class="soft">${callerWords(route)}</span></p><p>${prose(route.description)}</p>`;
  const shapes =
    route.kind === 'json' || route.kind === 'account'
      ? `${example(route.example)}${fields('Request', route.request as Shape)}${fields('Reply', rowsOf(route.reply as Shape))}`
      : '';
  return `<section id="${anchor(route)}">${head}${shapes}${refusals(route)}</section>`;
}

function callerWords(route: Route): string {
  switch (operationNeeds[route.operation]) {
    case 'nothing':
      return 'no key';
    case 'read':
      return 'any key';
    case 'write':
      return 'a key with permission all';
    case 'administrator':
      return 'the administrator key';
    case 'person':
      return 'a session';
  }
}

function example(value: unknown): string {
  return `<pre><code>${escaped(JSON.stringify(value, null, 2))}</code></pre>`;
}

/** A reply that is a list is described by its rows. */
function rowsOf(shape: Shape): Shape {
  return shape.type === 'array' && shape.items ? shape.items : shape;
}

function fields(heading: string, shape: Shape): string {
  const rows = Object.entries(shape.properties ?? {}).map(([name, field]) => {
    const needed = shape.required?.includes(name) ? '' : ' <span class="soft">optional</span>';
    const initial =
      field.default === undefined
        ? ''
        : ` <span class="soft">default <code>${escaped(JSON.stringify(field.default))}</code></span>`;
    return `<tr><td><code>${escaped(name)}</code>${needed}</td><td>${escaped(kind(field))}</td><td>${prose(field.description ?? '')}${initial}${nested(field)}</td></tr>`;
  });
  if (rows.length === 0) return '';
  return `<table><thead><tr><th scope="col">${heading}</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead><tbody>${rows.join('')}</tbody></table>`;
}

/** The fields of an object inside a field, one line each. */
function nested(field: Shape): string {
  const parts = (field.anyOf ?? [field.items ?? field]).filter((part) => part.properties);
  return parts
    .map(
      (part) =>
        `<br><code>{${escaped(
          Object.entries(part.properties ?? {})
            .map(([name, each]) => `${name}: ${kind(each)}`)
            .join(', '),
        )}}</code>`,
    )
    .join('');
}

function kind(shape: Shape): string {
  if (shape.anyOf) return [...new Set(shape.anyOf.map(kind))].join(' or ');
  if (shape.const !== undefined) return JSON.stringify(shape.const);
  if (shape.enum) return shape.enum.map((word) => JSON.stringify(word)).join(', ');
  if (shape.type === 'array') return `list of ${kind(shape.items ?? {})}`;
  return shape.type ?? 'any';
}

function refusals(route: Route): string {
  const rows = [...refusalsOf(route)].map(
    ([status, words]) => `<tr><td>${status}</td><td>${prose(words)}</td></tr>`,
  );
  if (rows.length === 0) return '';
  return `<details><summary>Refusals</summary><table><tbody>${rows.join('')}</tbody></table></details>`;
}

/** Escaped, with `code` between back ticks. */
function prose(words: string): string {
  return escaped(words).replace(/`([^`]+)`/g, '<code>$1</code>');
}
