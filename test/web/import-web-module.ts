import { join } from 'node:path';
import { build } from 'rolldown';
import { projectRoot } from '../../src/core/root.ts';

/**
 * Imports a module of the dashboard, with those that it imports, if none of them needs a browser. Each call returns a new
 * instance. `languages`: those of the browser.
 */
export async function importWebModule<Exports>(
  path: string,
  languages: readonly string[] = ['en-US'],
): Promise<Exports> {
  const { output } = await build({
    input: join(projectRoot, 'web', 'src', path),
    write: false,
    logLevel: 'silent',
    transform: { define: { 'navigator.languages': JSON.stringify(languages) } },
    output: { codeSplitting: false },
  });
  return (await import(`data:text/javascript,${encodeURIComponent(output[0].code)}`)) as Exports;
}
