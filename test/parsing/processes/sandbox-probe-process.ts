import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findOptionalTools } from '../../../src/parsing/tools/optional-tools.ts';
import { listSandboxCandidates, probeSandbox } from '../../../src/parsing/tools/sandbox-probe.ts';

/** Prints the probe results of each isolation level for the user that runs this process. */
const [data, folder] = ['data', 'tools'].map((name) => join(process.argv[2] ?? '', name)) as [string, string];
mkdirSync(data, { mode: 0o700 });
mkdirSync(folder, { mode: 0o700 });
const tools = findOptionalTools();
const probeResults: Record<string, unknown> = {};
for (const sandbox of listSandboxCandidates(tools)) {
  probeResults[sandbox.level] = await probeSandbox(sandbox, {
    tools,
    dataFolder: data,
    folderOf: () => folder,
    createUniqueName: () => randomUUID(),
    codeFile: fileURLToPath(import.meta.url),
  });
}
process.stdout.write(JSON.stringify(probeResults));
