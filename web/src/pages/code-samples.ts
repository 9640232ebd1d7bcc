import type { Kind, Request } from './question.ts';

/** The call of the playground as programs write it. The key stays out: whoever copies it fills it in. */

export const languages = ['curl', 'Node', 'Python'] as const;
export type Language = (typeof languages)[number];

interface Call {
  readonly kind: Kind;
  /** Without `explain`. */
  readonly request: Request;
  /** With `/v1`. */
  readonly baseUrl: string;
}

export function codeOf(language: Language, call: Call): string {
  switch (language) {
    case 'curl':
      return curl(call);
    case 'Node':
      return node(call);
    case 'Python':
      return python(call);
  }
}

function curl({ kind, request, baseUrl }: Call): string {
  const body = JSON.stringify(request, null, 2).replaceAll("'", "'\\''");
  return [
    `curl -s ${baseUrl}/queries/top-${kind} \\`,
    '  -H "Authorization: Bearer $QUARRY_API_KEY" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d '${body}'`,
  ].join('\n');
}

const nodeNames: Readonly<Record<Kind, string>> = {
  snippets: 'topSnippets',
  pages: 'topPages',
  documents: 'topDocuments',
};

function node({ kind, request, baseUrl }: Call): string {
  return [
    "import ZeroEntropy from 'zeroentropy'; // npm install zeroentropy",
    '',
    `const client = new ZeroEntropy({ apiKey: process.env.QUARRY_API_KEY, baseURL: ${JSON.stringify(baseUrl)} });`,
    `const { results } = await client.queries.${nodeNames[kind]}(${JSON.stringify(request, null, 2)});`,
    'console.log(results);',
  ].join('\n');
}

/** What the Python client has no name for in a call of its kind; it is sent along as it is. */
const withoutName: Readonly<Record<Kind, readonly string[]>> = {
  snippets: ['latency_mode'],
  pages: [],
  documents: [],
};

function python({ kind, request, baseUrl }: Call): string {
  const fields = Object.entries(request);
  const named = fields.filter(([name]) => !withoutName[kind].includes(name));
  const rest = fields.filter(([name]) => withoutName[kind].includes(name));
  return [
    'import os',
    'from zeroentropy import ZeroEntropy  # pip install zeroentropy',
    '',
    `client = ZeroEntropy(api_key=os.environ["QUARRY_API_KEY"], base_url=${JSON.stringify(baseUrl)})`,
    `response = client.queries.top_${kind}(`,
    ...named.map(([name, value]) => `    ${name}=${literal(value)},`),
    ...(rest.length === 0 ? [] : [`    extra_body=${literal(Object.fromEntries(rest))},`]),
    ')',
    'print(response.results)',
  ].join('\n');
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
