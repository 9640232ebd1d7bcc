import { setFlagsFromString } from 'node:v8';
import { type App, startApp } from './app/app.ts';
import type { Settings } from './config/schema.ts';

/** Runs the server until SIGTERM or SIGINT, then closes it; a second signal ends the process at once. */
export async function main(settings: Settings): Promise<void> {
  keepShortLivedYoung();
  const app = await startApp(settings);
  const stopped = new Promise<void>((resolve) => {
    const stop = () => {
      process.once('SIGTERM', () => process.exit(1)).once('SIGINT', () => process.exit(1));
      resolve();
    };
    process.once('SIGTERM', stop).once('SIGINT', stop);
  });
  try {
    await Promise.race([app.loaded.then(() => announce(app, settings)), stopped]);
    await stopped;
  } finally {
    await app.close();
  }
}

/**
 * Where many objects of one place in the code live long, as those of queries that wait while the caches fill, V8 takes to
 * making all later ones old at once. What a query makes is young after that as before, and nothing old may point to it: it
 * would be moved twice, and stay until the whole heap is collected.
 */
function keepShortLivedYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
}

/** Tells a person where the server is and how to search for the first time. */
function announce(app: App, settings: Settings): void {
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host;
  const url = settings.baseUrl ?? `http://${host}:${app.port}`;
  const key = app.newKey ?? (settings.apiKey === null ? 'YOUR_KEY' : '$QUARRY_API_KEY');
  const lines = [
    `Quarry is ready at ${url} (dashboard: ${url}/app/, documentation: ${url}/docs)`,
    `Open this to use it in the browser (signs in once, within 15 minutes): ${app.signInUrl}`,
    ...(app.newKey === null ? [] : [`API key, shown only this once: ${app.newKey}`]),
    `First organisation: ${app.organizationId}`,
    '',
    'First search, with the command line:',
    `  export QUARRY_URL=${url} QUARRY_API_KEY="${key}"`,
    '  node bin/quarry.js ingest README.md',
    '  node bin/quarry.js search "how do I add documents?"',
    'or with curl:',
    `  curl -s ${url}/v1/queries/top-snippets -H "Authorization: Bearer ${key}" -H 'Content-Type: application/json' \\`,
    `    -d '{"collection_name":"default","query":"how do I add documents?","k":3}'`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}
