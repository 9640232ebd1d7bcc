import { escapeHtml } from '../../core/html-page.ts';
import { errorResponsesOf, openApiPath, parametersOf } from '../openapi.ts';
import type { Route } from '../routes/route.ts';
import { codeSamples } from './code-samples.ts';
import { type JsonSchema, sampleValue } from './sample-value.ts';

/** Operations of the documentation, grouped by noun. */
export interface OperationGroup {
  readonly tag: string;
  readonly routes: readonly Route[];
}

export function groupOperations(routes: readonly Route[]): readonly OperationGroup[] {
  const visibleRoutes = routes.filter((route) => !(route.kind === 'page' && route.page === 'home'));
  const tags = [...new Set(visibleRoutes.map((route) => route.tag))];
  return tags.map((tag) => ({ tag, routes: visibleRoutes.filter((route) => route.tag === tag) }));
}

/** Links to all operations of a group, each with its path. */
export function renderOperationList({ tag, routes }: OperationGroup): string {
  const items = routes.map(
    (route) =>
      `<li><a href="/docs/api/${tag}#${operationAnchor(route)}">${escapeHtml(route.summary)}</a> <code>${route.method} ${escapeHtml(publicPath(route))}</code></li>`,
  );
  return `<ul>${items.join('')}</ul>`;
}

export function renderOperations({ tag, routes }: OperationGroup): string {
  const lead =
    'Every path below <code>/v1</code> also works without this prefix. Send <code>Authorization: Bearer &lt;API key&gt;</code> and JSON bodies. Unknown fields are ignored. Errors have the form <code>{"detail": "..."}</code>. See <a href="/docs/reference/http-api">the conventions</a>.';
  return `<h1>${escapeHtml(titleOf(tag))}</h1><p class="soft">${lead}</p>${routes.map(renderSection).join('')}`;
}

/** "vector-stores" -> "Vector stores" */
export function titleOf(tag: string): string {
  if (tag === 'mcp') return 'MCP';
  const words = tag.replaceAll('-', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function operationAnchor(route: Route): string {
  return route.kind === 'page' ? route.page : route.operation;
}

/** Path with the prefix that clients use: `/v1/documents/{collection}/{path}`. */
export function publicPath(route: Route): string {
  return (route.isVersioned ? '/v1' : '') + openApiPath(route.path);
}

function renderSection(route: Route): string {
  const method = `<span class="method ${route.method.toLowerCase()}">${route.method}</span>`;
  const head = `<h2>${escapeHtml(route.summary)}</h2><p class="request"><code>${method} ${escapeHtml(publicPath(route))}</code> <span class="soft">${route.access === 'none' ? 'No credential' : `Requires ${describeCredential(route)}`}</span></p><p>${renderProse(route.description)}</p>`;
  const parts = [head, renderTry(route), renderParameters(route), ...renderBodies(route)];
  return `<section id="${operationAnchor(route)}">${parts.join('')}${renderErrorResponses(route)}</section>`;
}

function renderBodies(route: Route): string[] {
  const samples = codeSamples(route).map(({ language, code }, index) =>
    renderDetails(language, renderCode(code), index === 0),
  );
  if (route.kind !== 'json' && route.kind !== 'account') return samples;
  const reply = route.reply as JsonSchema;
  const hasBody = route.kind === 'account' ? route.inputSource !== 'query' : route.method !== 'GET';
  const fields = hasBody ? route.request : {};
  return [
    renderFields('Request', fields as JsonSchema),
    ...samples,
    renderDetails('Sample reply', renderCode(JSON.stringify(sampleValue(reply), null, 2)), false),
    renderFields('Reply', itemSchema(reply)),
  ];
}

/**
 * Link to the console of the dashboard, which sends the example with the session of the visitor. These pages have no
 * scripts. The console offers the same operations (`web/src/server/api-console.ts`).
 */
function renderTry(route: Route): string {
  const hasJson = route.kind === 'json' || (route.kind === 'account' && route.inputSource === 'json');
  if (!hasJson || route.access === 'none') return '';
  return `<p><a href="/app/console?operation=${route.operation}">Try it</a></p>`;
}

function renderDetails(summary: string, html: string, isOpen: boolean): string {
  return `<details${isOpen ? ' open' : ''}><summary>${summary}</summary>${html}</details>`;
}

function renderCode(code: string): string {
  return `<pre tabindex="0"><code>${escapeHtml(code)}</code></pre>`;
}

/** Values in the path, the query string and the headers. */
function renderParameters(route: Route): string {
  const parameters = parametersOf(route);
  return renderFields('Parameter', {
    properties: Object.fromEntries(
      parameters.map(({ name, description, schema }) => [
        name,
        { ...(schema as JsonSchema), ...(description === undefined ? {} : { description }) },
      ]),
    ),
    required: parameters.filter(({ required }) => required).map(({ name }) => name as string),
  } as JsonSchema);
}

export function describeCredential(route: Route): string {
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
    return `<tr><td><code>${escapeHtml(name)}</code>${optionalMark}</td><td>${escapeHtml(describeType(field))}${describeBounds(field)}</td><td>${renderProse(field.description ?? '')}${defaultField}${renderNestedFields(field)}</td></tr>`;
  });
  if (rows.length === 0) return '';
  return `<div class="wide" tabindex="0"><table><thead><tr><th scope="col">${heading}</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead><tbody>${rows.join('')}</tbody></table></div>`;
}

/** Limits of a value, as a line below its type. */
function describeBounds(field: JsonSchema): string {
  const { minimum, exclusiveMinimum, maximum, minLength, maxLength, minItems, maxItems } = field;
  const bounds = Object.entries({
    'at least': minimum,
    'more than': exclusiveMinimum,
    'at most': maximum,
    'characters, at least': minLength,
    'characters, at most': maxLength,
    'items, at least': minItems,
    'items, at most': maxItems,
  }).flatMap(([words, bound]) => (bound === undefined ? [] : `${words} ${bound}`));
  const branches = (field.anyOf ?? []).map(describeBounds).join('');
  return bounds.length === 0 ? branches : `<br><span class="soft">${bounds.join('; ')}</span>${branches}`;
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
