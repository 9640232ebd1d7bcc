import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { commandGroups, commands } from '../../src/cli/program.ts';
import t, { type Test } from '../support/tap.ts';
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

/** Words that fish offers at the end of a command line. `file`: the script, which is longer than an argument may be. */
function completeInFish(file: string, line: string): string[] {
  const { stdout } = spawnSync('fish', ['--no-config', '-c', `source '${file}'; complete -C "${line}"`], {
    encoding: 'utf8',
  });
  return stdout.split('\n').flatMap((each) => (each === '' ? [] : [each.split('\t')[0] ?? '']));
}

/** Words that zsh adds for the last of `words`; `compadd` is replaced, because only its editor has it. */
function completeInZsh(script: string, words: readonly string[]): string[] {
  const program = `compadd() { shift; print -l -- "$@" }
compdef() { :; }
_files() { print -- FILES }
${script}
words=(quarry "$@") CURRENT=$(($# + 1)) PREFIX="$words[$CURRENT]"
_quarry`;
  const { stdout } = spawnSync('zsh', ['-f', '-c', program, 'zsh', ...words], { encoding: 'utf8' });
  return stdout.split('\n').filter((word) => word !== '');
}

const shellCases = [
  [['inge'], 'ingest'],
  [['documents', 'li'], 'list'],
  [['search', '--lat'], '--latency-mode'],
  [['search', '--latency-mode', ''], 'high'],
  [['documents', 'list', '--js'], '--json'],
  [['op'], 'open'],
] as const;

for (const shell of ['zsh', 'fish'] as const) {
  const isMissing = spawnSync(shell, ['--version']).error !== undefined;
  t.test(
    `${shell} completes commands, flags and values`,
    { skip: isMissing && `needs ${shell}` },
    async (t) => {
      const script = (await runQuarry(['completion', shell])).out;
      const folder = t.testdir({ script });
      const offered = (words: readonly string[]) =>
        shell === 'zsh'
          ? completeInZsh(script, words)
          : completeInFish(join(folder, 'script'), `quarry ${words.join(' ')}`);
      for (const [words, expected] of shellCases)
        t.ok(offered(words).includes(expected), `${words.join(' ')} offers ${expected}`);
      t.notOk(offered(['search', '--']).includes('--shards'), 'flags of other commands are not offered');
    },
  );
}

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
