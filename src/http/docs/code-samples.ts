import { fieldsOutsidePath, openApiPath } from '../openapi.ts';
import type { Route } from '../routes/route.ts';

/** Programs that call an operation with its example; each runs as pasted, without installing packages. */

interface SampleCall {
  readonly method: string;
  readonly url: string;
  /** Environment variable with the credential; null if none is needed. */
  readonly keyVariable: string | null;
  readonly contentType: string | null;
  readonly body: string | null;
}

interface CodeSample {
  readonly language: 'curl' | 'Node' | 'Python';
  readonly code: string;
}

const baseUrl = 'http://127.0.0.1:8720';

export function codeSamples(route: Route): readonly CodeSample[] {
  const call = sampleCall(route);
  return [
    { language: 'curl', code: renderCurl(call) },
    { language: 'Node', code: renderNode(call) },
    { language: 'Python', code: renderPython(call) },
  ];
}

function sampleCall(route: Route): SampleCall {
  const isOperation = route.kind === 'account' || route.kind === 'json';
  const fields = isOperation ? (route.example as Record<string, unknown>) : {};
  const path = openApiPath(route.path).replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(fields[name] ?? exampleSegment(route, name))),
  );
  const call = {
    method: route.method,
    url: `${baseUrl}${route.isVersioned ? '/v1' : ''}${path}`,
    keyVariable: keyVariableOf(route),
    contentType: null,
    body: null,
  };
  switch (route.kind) {
    case 'json': {
      if (route.method === 'GET') return call;
      const body = JSON.stringify(Object.fromEntries(fieldsOutsidePath(route)), null, 2);
      return { ...call, contentType: 'application/json', body };
    }
    case 'account':
      return accountCall(call, route);
    case 'mcp':
      return { ...call, contentType: 'application/json', body: JSON.stringify(route.example, null, 2) };
    case 'put':
      return { ...call, contentType: 'text/plain', body: 'Returns are free of charge.' };
    case 'multipart':
      return { ...call, contentType: 'multipart/form-data; boundary=part', body: multipartBody };
    case 'file':
    case 'image':
      return { ...call, url: `${call.url}?token=TOKEN` };
    case 'page':
      return call;
  }
}

/** Returns an example of a path parameter that no example request has. */
function exampleSegment({ kind }: Route, name: string): string {
  if (name === 'collection') return 'handbook';
  if (name === 'path') return kind === 'put' ? 'returns.txt' : 'glossary';
  return name;
}

const multipartBody = [
  '--part\r\nContent-Disposition: form-data; name="collection_name"\r\n\r\nhandbook',
  '--part\r\nContent-Disposition: form-data; name="path"\r\n\r\nterms.txt',
  '--part\r\nContent-Disposition: form-data; name="file"; filename="terms.txt"\r\n\r\nReturns take 30 days.',
  '--part--\r\n',
].join('\r\n');

function accountCall(call: SampleCall, route: Extract<Route, { kind: 'account' }>): SampleCall {
  const fields = fieldsOutsidePath(route);
  const form = new URLSearchParams(
    fields.map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
  switch (route.inputSource) {
    case 'query':
      return form === '' ? call : { ...call, url: `${call.url}?${form}` };
    case 'form':
      return { ...call, contentType: 'application/x-www-form-urlencoded', body: form };
    case 'json':
    case 'bytes': {
      const body = JSON.stringify(Object.fromEntries(fields), null, 2);
      return { ...call, contentType: 'application/json', body };
    }
  }
}

function keyVariableOf({ access }: Route): string | null {
  switch (access) {
    case 'none':
      return null;
    case 'administrator':
      return 'QUARRY_ADMIN_KEY';
    case 'user':
      return 'QUARRY_SESSION';
    case 'read':
    case 'write':
      return 'QUARRY_API_KEY';
  }
}

function renderCurl({ method, url, keyVariable, contentType, body }: SampleCall): string {
  // Bash: $'...' writes the line ends of a form.
  const quoted = body?.includes('\r')
    ? `$'${body.replaceAll('\r', '\\r').replaceAll('\n', '\\n')}'`
    : `'${body?.replaceAll("'", "'\\''")}'`;
  const options = [
    ...(keyVariable === null ? [] : [`-H "Authorization: Bearer $${keyVariable}"`]),
    ...(contentType === null ? [] : [`-H "Content-Type: ${contentType}"`]),
    ...(body === null ? [] : [`--data-binary ${quoted}`]),
  ];
  return [`curl -s -X ${method} '${url}'`, ...options].join(' \\\n  ');
}

function renderNode({ method, url, keyVariable, contentType, body }: SampleCall): string {
  const headers = [
    ...(keyVariable === null ? [] : [`    Authorization: "Bearer " + process.env.${keyVariable},`]),
    ...(contentType === null ? [] : [`    "Content-Type": ${JSON.stringify(contentType)},`]),
  ];
  return [
    `const response = await fetch(${JSON.stringify(url)}, {`,
    `  method: ${JSON.stringify(method)},`,
    ...(headers.length === 0 ? [] : ['  headers: {', ...headers, '  },']),
    ...(body === null ? [] : [`  body: ${JSON.stringify(compact(body))},`]),
    '});',
    'console.log(response.status, await response.text());',
  ].join('\n');
}

function renderPython({ method, url, keyVariable, contentType, body }: SampleCall): string {
  const headers = [
    ...(keyVariable === null ? [] : [`        "Authorization": "Bearer " + os.environ["${keyVariable}"],`]),
    ...(contentType === null ? [] : [`        "Content-Type": ${JSON.stringify(contentType)},`]),
  ];
  return [
    keyVariable === null ? 'import urllib.request' : 'import os, urllib.request',
    '',
    'request = urllib.request.Request(',
    `    ${JSON.stringify(url)},`,
    `    method=${JSON.stringify(method)},`,
    ...(headers.length === 0 ? [] : ['    headers={', ...headers, '    },']),
    ...(body === null ? [] : [`    data=${JSON.stringify(compact(body))}.encode(),`]),
    ')',
    'with urllib.request.urlopen(request) as response:',
    '    print(response.status, response.read().decode())',
  ].join('\n');
}

/** JSON on one line; other text unchanged. */
function compact(body: string): string {
  return body.startsWith('{') ? JSON.stringify(JSON.parse(body)) : body;
}
