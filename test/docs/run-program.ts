import { spawn } from 'node:child_process';

interface ProgramOutcome {
  readonly code: number | null;
  /** Standard output and standard error. */
  readonly output: string;
}

/** Runs a program as a reader of the documentation does, without the loaders of the test runner. */
export function runProgram(
  [command = '', ...words]: readonly string[],
  variables: NodeJS.ProcessEnv,
  folder: string = process.cwd(),
): Promise<ProgramOutcome> {
  const { NODE_OPTIONS: _, ...inherited } = process.env;
  const child = spawn(command, words, { cwd: folder, env: { ...inherited, ...variables } });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (part: Buffer) => {
      output += part.toString();
    });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}
