import { createHash } from 'node:crypto';
import { operationNeeds } from '../access/authorise.ts';
import { openApiPath, refusalsOf } from './openapi.ts';
import type { Route } from './routes.ts';

const style = `
:root{color-scheme:light dark;--text:#1c1e21;--soft:#5a626b;--line:#d5dae0;--back:#fff;--code:#f4f6f8;--accent:#0a58a8}
@media(prefers-color-scheme:dark){:root{--text:#e6e8eb;--soft:#a2abb5;--line:#3a414a;--back:#15181c;--code:#20252b;--accent:#7db6f2}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--text);font:16px/1.55 system-ui,sans-serif}
main{max-width:52rem;margin:0 auto;padding:2rem 1.25rem 6rem}
h1{font-size:1.9rem;margin:0 0 .5rem}h2{font-size:1.4rem;margin:3rem 0 1rem;text-transform:capitalize}
h3{font-size:1.05rem;margin:0}
a{color:var(--accent)}
code,pre{font:.875rem/1.5 ui-monospace,Menlo,Consolas,monospace;background:var(--code);border-radius:4px}
code{padding:.1em .3em;overflow-wrap:anywhere}pre{padding:.75rem 1rem;overflow-x:auto}pre code{padding:0}
section{border:1px solid var(--line);border-radius:8px;padding:1rem 1.25rem;margin:1rem 0}
table{border-collapse:collapse;width:100%;margin:.5rem 0 1rem;font-size:.925rem}
th,td{text-align:left;vertical-align:top;padding:.4rem .6rem;border-top:1px solid var(--line)}th{color:var(--soft);font-weight:600}
nav ul{columns:2;padding-left:1.1rem}.soft{color:var(--soft)}
@media(max-width:40rem){nav ul{columns:1}}
`;

/** Only the page's own style, named by its hash, may apply; nothing may load or run. */
export const docsPolicy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

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
    .map((route) => `<li><a href="#${anchor(route)}">${text(route.summary)}</a></li>`)
    .join('');
  const groups = tags.map((tag) => {
    const sections = shown.filter((route) => route.tag === tag).map(section);
    return `<h2 id="group-${tag}">${text(tag)}</h2>${sections.join('')}`;
  });
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Quarry API</title><style>${style}</style></head><body><main><h1>Quarry API</h1><p>Every address works under <code>/v1</code> and without it. Requests carry <code>Authorization: Bearer &lt;API key&gt;</code> and, where there is a body, JSON. An empty body counts as <code>{}</code>; unknown fields are ignored. Refusals are <code>{"detail": "..."}</code>. For programs: <a href="/openapi.json">openapi.json</a>.</p><nav aria-label="Operations"><ul>${contents}</ul></nav>${groups.join('')}</main></body></html>`;
}

function anchor(route: Route): string {
  return route.kind === 'page' ? route.page : route.operation;
}

function section(route: Route): string {
  const prefix = route.versioned ? '/v1' : '';
  const head = `<h3>${text(route.summary)}</h3><p><code>${route.method} ${text(prefix + openApiPath(route.path))}</code> <span class="soft">${callerWords(route)}</span></p><p>${prose(route.description)}</p>`;
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
  return `<pre><code>${text(JSON.stringify(value, null, 2))}</code></pre>`;
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
        : ` <span class="soft">default <code>${text(JSON.stringify(field.default))}</code></span>`;
    return `<tr><td><code>${text(name)}</code>${needed}</td><td>${text(kind(field))}</td><td>${prose(field.description ?? '')}${initial}${nested(field)}</td></tr>`;
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
        `<br><code>{${text(
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
  return text(words).replace(/`([^`]+)`/g, '<code>$1</code>');
}

function text(words: string): string {
  return words.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}
