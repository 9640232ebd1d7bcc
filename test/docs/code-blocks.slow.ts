import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { projectRoot } from '../../src/core/root.ts';
import { operatorKey, TestServer } from '../e2e/server.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { type CodeBlock, codeBlocks } from './code-blocks.ts';
import { runProgram } from './run-program.ts';

/** Executes the code blocks of the README and the guides in order against a fresh server. */

t.setTimeout(testFileMsMax);

const guides = join(projectRoot, 'docs', 'guides');
const pages = ['README.md', ...readdirSync(guides).map((name) => join('docs', 'guides', name))];
const documentedUrl = 'http://127.0.0.1:8720';
const commandLine = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), 'src', 'cli', 'main.js');
/** Languages of blocks that show output instead of commands. */
const shown = new Set(['json', 'text']);

/** Creates a folder that mirrors the root of the repository; returns an environment with `quarry` on the path. */
function workFolder(folder: string): Record<string, string> {
  for (const name of ['bin', 'docs', 'README.md', 'node_modules', 'package.json'])
    symlinkSync(join(projectRoot, name), join(folder, name));
  mkdirSync(join(folder, '.path'));
  const script = `#!/bin/sh\nexec "${process.execPath}" "${commandLine}" "$@"\n`;
  writeFileSync(join(folder, '.path', 'quarry'), script, { mode: 0o755 });
  return { PATH: `${join(folder, '.path')}:${process.env.PATH ?? ''}` };
}

/** Command that runs a block; null if the block only shows output. */
function programOf({ language }: CodeBlock, text: string, folder: string): readonly string[] | null {
  if (shown.has(language)) return null;
  if (language === 'sh') return ['bash', '-euo', 'pipefail', '-c', text];
  if (language === 'python') return ['python3', '-c', `compile(${JSON.stringify(text)}, "page", "exec")`];
  if (language !== 'js') throw new Error(`blocks of the language "${language}" are not supported`);
  const file = join(folder, 'block.mjs');
  writeFileSync(file, text);
  return [process.execPath, file];
}

for (const page of pages) {
  const blocks = codeBlocks(readFileSync(join(projectRoot, page), 'utf8'));
  if (blocks.length === 0) continue;
  t.test(`${page}: every block runs`, async (t) => {
    const server = await TestServer.start(t);
    const folder = t.testdir();
    const variables = { ...workFolder(folder), QUARRY_URL: server.url, QUARRY_API_KEY: operatorKey };
    for (const block of blocks) {
      const name = `line ${block.line}, ${block.language}`;
      if (block.skipReason !== null) {
        t.pass(`${name}: not run, ${block.skipReason}`);
        continue;
      }
      const text = block.text.replaceAll(documentedUrl, server.url);
      const program = programOf(block, text, folder);
      if (program === null) continue;
      const { code, output } = await runProgram(program, variables, folder);
      t.equal(code, 0, `${name}: ${output}`);
      t.notMatch(output, /"detail":/, `${name}: no request is rejected`);
      t.notMatch(output, /^\[\]$/m, `${name}: no printed list is empty`);
    }
  });
}
