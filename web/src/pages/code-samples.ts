import type { Kind, Request } from './question.ts';

/**
 * The call of the playground as programs write it. Each works as it is pasted, with nothing installed beforehand; the key
 * stays out and comes from the environment.
 */

export const languages = ['curl', 'Node', 'Python'] as const;
export type Language = (typeof languages)[number];

interface Call {
  readonly kind: Kind;
  /** Without `explain`. */
  readonly request: Request;
  /** With `/v1`. */
  readonly baseUrl: string;
}

export function codeOf(language: Language, { kind, request, baseUrl }: Call): string {
  const url = `${baseUrl}/queries/top-${kind}`;
  switch (language) {
    case 'curl':
      return curl(url, request);
    case 'Node':
      return node(url, request);
    case 'Python':
      return python(url, request);
  }
}

function curl(url: string, request: Request): string {
  const body = JSON.stringify(request, null, 2).replaceAll("'", "'\\''");
  return [
    `curl -s ${url} \\`,
    '  -H "Authorization: Bearer $QUARRY_API_KEY" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d '${body}'`,
  ].join('\n');
}

function node(url: string, request: Request): string {
  return [
    `const response = await fetch(${JSON.stringify(url)}, {`,
    '  method: "POST",',
    '  headers: {',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the template is one of the program that is written
    '    Authorization: `Bearer ${process.env.QUARRY_API_KEY}`,',
    '    "Content-Type": "application/json",',
    '  },',
    `  body: JSON.stringify(${indented(JSON.stringify(request, null, 2), '  ')}),`,
    '});',
    'console.log(JSON.stringify(await response.json(), null, 2));',
  ].join('\n');
}

function python(url: string, request: Request): string {
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
    ...Object.entries(request).map(([name, value]) => `        "${name}": ${literal(value)},`),
    '    }).encode(),',
    ')',
    'with urllib.request.urlopen(request) as response:',
    '    print(json.dumps(json.load(response), indent=2))',
  ].join('\n');
}

function indented(text: string, by: string): string {
  return text.replaceAll('\n', `\n${by}`);
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (typeof value === 'object')
    return `{${Object.entries(value)
      .map(([name, each]) => `${JSON.stringify(name)}: ${literal(each)}`)
      .join(', ')}}`;
  return JSON.stringify(value);
}
