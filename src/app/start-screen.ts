export interface StartScreenContent {
  readonly version: string;
  readonly url: string;
  /** Signs in once. */
  readonly signInUrl: string;
  readonly apiKey: 'earlier' | 'setting' | { readonly created: string };
  readonly organizationId: string;
  /** Data directory. */
  readonly data: string;
  readonly collections: number;
  /** Command that starts the program in a shell. */
  readonly program: string;
}

/** Formats the start screen for a terminal: eight lines, with the sign-in link and a new API key. */
export function formatStartScreen(content: StartScreenContent): string[] {
  const rows = [
    ['Address', `${content.url} (documentation: ${content.url}/docs)`],
    ['Dashboard', `${content.signInUrl} (works once, within 15 minutes)`],
    ['API key', describeKey(content.apiKey)],
    ['Organization', content.organizationId],
    ['Data', content.data],
    ['Collections', describeCollections(content)],
  ] as const;
  return [
    `Quarry ${content.version}`,
    ...rows.map(([name, value]) => `  ${name.padEnd(14)}${value}`),
    'Ctrl-C to stop',
  ];
}

function describeKey(apiKey: StartScreenContent['apiKey']): string {
  if (apiKey === 'setting') return 'the value of QUARRY_API_KEY';
  if (apiKey === 'earlier') return 'shown at the first start; create another one in the dashboard';
  return `${apiKey.created} (shown only once)`;
}

function describeCollections({ collections, program }: StartScreenContent): string {
  if (collections > 0) return String(collections);
  return `none; add files in the dashboard, or try: ${program} sample`;
}
