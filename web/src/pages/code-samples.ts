import type { SearchRequestBody } from './search-query.ts';
import type { ResultKind } from './search-settings.ts';

/**
 * Code samples of the API call of a search. Each sample runs as pasted, without installing packages. The API
 * key is read from the environment.
 */

export const sampleLanguages = ['curl', 'Node', 'Python'] as const;
export type SampleLanguage = (typeof sampleLanguages)[number];

interface SampleCall {
  readonly kind: ResultKind;
  /** Request body without `explain`. */
  readonly request: SearchRequestBody;
  /** Base URL including `/v1`. */
  readonly baseUrl: string;
}

export function renderSample(language: SampleLanguage, { kind, request, baseUrl }: SampleCall): string {
  const url = `${baseUrl}/queries/top-${kind}`;
  switch (language) {
    case 'curl':
      return renderCurl(url, request);
    case 'Node':
      return renderNode(url, request);
    case 'Python':
      return renderPython(url, request);
  }
}

function renderCurl(url: string, request: SearchRequestBody): string {
  const body = JSON.stringify(request, null, 2).replaceAll("'", "'\\''");
  return [
    `curl -s ${url} \\`,
    '  -H "Authorization: Bearer $QUARRY_API_KEY" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d '${body}'`,
  ].join('\n');
}

function renderNode(url: string, request: SearchRequestBody): string {
  return [
    `const response = await fetch(${JSON.stringify(url)}, {`,
    '  method: "POST",',
    '  headers: {',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the template is one of the program that is written
    '    Authorization: `Bearer ${process.env.QUARRY_API_KEY}`,',
    '    "Content-Type": "application/json",',
    '  },',
    `  body: JSON.stringify(${indent(JSON.stringify(request, null, 2), '  ')}),`,
    '});',
    'console.log(JSON.stringify(await response.json(), null, 2));',
  ].join('\n');
}

function renderPython(url: string, request: SearchRequestBody): string {
  return [
    'import json, os, urllib.request',
    '',
    'request = urllib.request.Request(',
    `    ${JSON.stringify(url)},`,
    '    headers={',
    '        "Authorization": "Bearer " + os.environ["QUARRY_API_KEY"],',
    '        "Content-Type": "application/json",',
    '    },',
    '    data=json.dumps({',
    ...Object.entries(request).map(([name, value]) => `        "${name}": ${toPythonLiteral(value)},`),
    '    }).encode(),',
    ')',
    'with urllib.request.urlopen(request) as response:',
    '    print(json.dumps(json.load(response), indent=2))',
  ].join('\n');
}

function indent(text: string, indentation: string): string {
  return text.replaceAll('\n', `\n${indentation}`);
}

function toPythonLiteral(value: unknown): string {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(toPythonLiteral).join(', ')}]`;
  if (typeof value === 'object')
    return `{${Object.entries(value)
      .map(([name, each]) => `${JSON.stringify(name)}: ${toPythonLiteral(each)}`)
      .join(', ')}}`;
  return JSON.stringify(value);
}
