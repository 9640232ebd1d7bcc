import { join } from 'node:path';
import { build } from 'rolldown';
import { projectRoot } from '../../src/core/root.ts';

/** Imports a module of the dashboard, with those that it imports, if none of them needs a browser. */
export async function importWebModule<Exports>(path: string): Promise<Exports> {
  const { output } = await build({
    input: join(projectRoot, 'web', 'src', path),
    write: false,
    logLevel: 'silent',
    output: { codeSplitting: false },
  });
  return (await import(`data:text/javascript,${encodeURIComponent(output[0].code)}`)) as Exports;
}
