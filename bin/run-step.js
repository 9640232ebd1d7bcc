// Runs one step of the build in a child process: shows its title and, on a terminal, the elapsed time; prints the output
// of the child only when it fails.
import { spawn } from 'node:child_process';
import { LaunchError } from './launch-error.js';

const outputLinesShown = { first: 20, last: 40 };
const outputUnitsMax = 64 * 1024;
const signalNumbers = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 };

/** Resolves when the child exits with 0; rejects with a LaunchError otherwise, and after a signal to this process. */
export async function runStep(step) {
  const startedAt = performance.now();
  const seconds = () => Math.round((performance.now() - startedAt) / 1000);
  const display = createDisplay(step.title, seconds);
  const child = spawn(step.command, step.arguments, {
    cwd: step.root,
    env: { ...process.env, ...step.variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = captureTail(child);
  const signals = forwardSignals(child);
  const result = await new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: null, reason: error.message }));
    child.once('close', (code, signal) => resolve({ code, reason: signal ?? `exit code ${code}` }));
  });
  const received = signals.release();
  if (received !== null) {
    display.end('interrupted');
    throw new LaunchError(`${step.title} was interrupted.`, 128 + signalNumbers[received]);
  }
  if (result.code === 0) {
    display.end(`done in ${seconds()} s`);
    return;
  }
  display.end('failed');
  process.stderr.write(`${truncateOutput(output()).join('\n')}\n`);
  throw new LaunchError(`${step.title} failed (${result.reason}); its output is above. ${step.advice}`);
}

/** Keeps both ends: npm reports the error in its first lines, a compiler in its last ones. */
function truncateOutput(output) {
  const lines = output.split('\n');
  const { first, last } = outputLinesShown;
  if (lines.length <= first + last) return lines;
  return [
    ...lines.slice(0, first),
    `... ${lines.length - first - last} more lines ...`,
    ...lines.slice(-last),
  ];
}

function createDisplay(title, seconds) {
  const terminal = process.stderr.isTTY === true;
  if (!terminal) process.stderr.write(`quarry: ${title}\n`);
  const show = () => process.stderr.write(`\r\x1b[Kquarry: ${title} ... ${seconds()} s`);
  if (terminal) show();
  const timer = terminal ? setInterval(show, 1000) : null;
  return {
    end(outcome) {
      if (timer !== null) clearInterval(timer);
      process.stderr.write(`${terminal ? '\r\x1b[K' : ''}quarry: ${title}: ${outcome}\n`);
    },
  };
}

function captureTail(child) {
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part) => {
      text = (text + part).slice(-outputUnitsMax);
    });
  }
  return () => text.trimEnd();
}

/** Forwards signals to the child, so that the launcher exits only after its build step has ended. */
function forwardSignals(child) {
  let received = null;
  const listeners = Object.keys(signalNumbers).map((name) => {
    const listener = () => {
      received = name;
      child.kill(name);
    };
    process.on(name, listener);
    return [name, listener];
  });
  return {
    release() {
      for (const [name, listener] of listeners) process.off(name, listener);
      return received;
    },
  };
}
