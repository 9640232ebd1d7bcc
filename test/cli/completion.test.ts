import { spawnSync } from 'node:child_process';
import t, { type Test } from 'tap';
import { commandGroups, commands } from '../../src/cli/program.ts';
import { runQuarry } from './quarry.ts';

const hasBash = spawnSync('bash', ['--version']).error === undefined;

/** Words that bash offers for the last of `words`. */
function complete(t: Test, script: string, words: readonly string[]): string[] {
  const program = `${script}
complete -p quarry >&2
COMP_WORDS=(quarry "$@")
COMP_CWORD=$#
_quarry
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr, status } = spawnSync('bash', ['-c', program, 'bash', ...words], {
    encoding: 'utf8',
  });
  t.equal(status, 0);
  t.equal(stderr, 'complete -o default -F _quarry quarry\n');
  return stdout.split('\n').filter((word) => word !== '');
}

t.test('bash completes commands, flags and values', { skip: !hasBash && 'needs bash' }, async (t) => {
  const script = (await runQuarry(['completion', 'bash'])).out;
  const firstWords = new Set(commands.map(({ usage }) => usage.split(' ')[0]));
  t.same(new Set(complete(t, script, [''])), new Set([...firstWords, '--help', '--version']));
  t.same(complete(t, script, ['inge']), ['ingest']);
  t.ok(complete(t, script, ['documents', '']).includes('list'));
  t.same(complete(t, script, ['search', '--lat']), ['--latency-mode']);
  t.same(complete(t, script, ['search', '--latency-mode', '']), ['low', 'high']);
  t.same(complete(t, script, ['documents', 'list', '--js']), ['--json']);
  t.ok(complete(t, script, ['serve', '--po']).includes('--port'));
  t.same(complete(t, script, ['ingest', 'do']), [], 'bash completes file names itself');
});

t.test('the scripts of zsh and fish contain every command', async (t) => {
  for (const shell of ['zsh', 'fish']) {
    const { out, code } = await runQuarry(['completion', shell]);
    t.equal(code, 0);
    for (const { usage } of commands) {
      const [first = '', second = ''] = usage.split(' ');
      t.match(out, ` ${first}`);
      if (commandGroups[first] !== undefined) t.match(out, ` ${second}`);
    }
  }
  const unknown = await runQuarry(['completion', 'tcsh']);
  t.equal(unknown.code, 2);
  t.match(unknown.err, 'bash, zsh or fish');
});
