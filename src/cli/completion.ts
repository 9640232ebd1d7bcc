import { AppError } from '../core/app-error.ts';
import type { CommandContext, CommandSpec } from './command.ts';
import { exitCodes } from './exit-codes.ts';

/** Command as a shell completes it. */
export interface CompletionEntry {
  /** Command words: "search", "documents list". */
  readonly name: string;
  readonly summary: string;
  /** Long flags, and short ones. */
  readonly flags: readonly string[];
  /** Values of flags with a fixed set of values. */
  readonly choices: readonly { readonly flag: string; readonly values: readonly string[] }[];
}

const shells = { bash: bashScript, zsh: zshScript, fish: fishScript };

/** `listEntries` is called when the command runs, because the table of commands includes this one. */
export function createCompletionCommand(listEntries: () => readonly CompletionEntry[]): CommandSpec {
  return {
    usage: 'completion <shell>',
    settings: 'none',
    summary: 'print the completion script for bash, zsh or fish',
    examples: [
      'source <(quarry completion bash)',
      'quarry completion zsh > ~/.zfunc/_quarry',
      'quarry completion fish > ~/.config/fish/completions/quarry.fish',
    ],
    async run(context: CommandContext, args: readonly string[]): Promise<number> {
      const shell = Object.keys(shells).find((name) => name === args[0]) as keyof typeof shells | undefined;
      if (shell === undefined)
        throw new AppError(
          'bad_request',
          'The shell must be bash, zsh or fish (see `quarry completion --help`).',
        );
      context.terminal.out(shells[shell](listEntries()));
      return exitCodes.done;
    },
  };
}

/** Second words by first word; empty for a command of one word. */
function groupWords(entries: readonly CompletionEntry[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const { name } of entries) {
    const [first = '', second] = name.split(' ');
    groups.set(first, [...(groups.get(first) ?? []), ...(second === undefined ? [] : [second])]);
  }
  return groups;
}

function bashScript(entries: readonly CompletionEntry[]): string {
  const groups = groupWords(entries);
  const pairs = [...groups].filter(([, words]) => words.length > 0);
  const choices = entries.flatMap(({ name, choices }) =>
    choices.map(({ flag, values }) => `    '${name} ${flag}') words='${values.join(' ')}' ;;`),
  );
  return [
    '# bash completion of quarry',
    '_quarry() {',
    `  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"`,
    `  local name="\${COMP_WORDS[1]}" words=""`,
    '  COMPREPLY=()',
    '  if ((COMP_CWORD == 1)); then',
    `    mapfile -t COMPREPLY < <(compgen -W '${[...groups.keys()].join(' ')} --help --version' -- "$current")`,
    '    return',
    '  fi',
    '  case "$name" in',
    ...pairs.map(([first, words]) => `    ${first}) words='${words.join(' ')}' ;;`),
    '  esac',
    '  if [[ -n $words ]]; then',
    '    if ((COMP_CWORD == 2)); then',
    '      mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")',
    '      return',
    '    fi',
    `    name="$name \${COMP_WORDS[2]}"`,
    '    words=""',
    '  fi',
    '  case "$name $previous" in',
    ...choices,
    '  esac',
    '  if [[ -z $words && $current == -* ]]; then',
    '    case "$name" in',
    ...entries.map(({ name, flags }) => `      '${name}') words='${flags.join(' ')}' ;;`),
    '    esac',
    '  fi',
    '  [[ -z $words ]] || mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")',
    '}',
    'complete -o default -F _quarry quarry',
  ].join('\n');
}

function zshScript(entries: readonly CompletionEntry[]): string {
  const groups = groupWords(entries);
  const pairs = [...groups].filter(([, words]) => words.length > 0);
  const choices = entries.flatMap(({ name, choices }) =>
    choices.map(({ flag, values }) => `    '${name} ${flag}') compadd -- ${values.join(' ')}; return ;;`),
  );
  return [
    '#compdef quarry',
    '_quarry() {',
    `  local name="\${words[2]}"`,
    '  if (( CURRENT == 2 )); then',
    `    compadd -- ${[...groups.keys()].join(' ')} --help --version`,
    '    return',
    '  fi',
    '  case "$name" in',
    ...pairs.map(
      ([first, words]) =>
        `    ${first}) if (( CURRENT == 3 )); then compadd -- ${words.join(' ')}; return; fi; name="$name \${words[3]}" ;;`,
    ),
    '  esac',
    `  case "$name \${words[CURRENT-1]}" in`,
    ...choices,
    '  esac',
    '  if [[ "$PREFIX" == -* ]]; then',
    '    case "$name" in',
    ...entries.map(({ name, flags }) => `      '${name}') compadd -- ${flags.join(' ')} ;;`),
    '    esac',
    '    return',
    '  fi',
    '  _files',
    '}',
    'if [ "$funcstack[1]" = "_quarry" ]; then _quarry "$@"; else compdef _quarry quarry; fi',
  ].join('\n');
}

function fishScript(entries: readonly CompletionEntry[]): string {
  const quote = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`;
  const lines = entries.flatMap(({ name, summary, flags, choices }) => {
    const [first = '', second] = name.split(' ');
    const seen = `__fish_seen_subcommand_from ${first}`;
    const condition = second === undefined ? seen : `${seen}; and __fish_seen_subcommand_from ${second}`;
    const word =
      second === undefined
        ? `complete -c quarry -n __fish_use_subcommand -f -a ${first} -d ${quote(summary)}`
        : `complete -c quarry -n ${quote(seen)} -f -a ${second} -d ${quote(summary)}`;
    const options = flags.map((flag) => {
      const values = choices.find((choice) => choice.flag === flag)?.values;
      const allowed = values === undefined ? '' : ` -x -a ${quote(values.join(' '))}`;
      const isLong = flag.startsWith('--');
      return `complete -c quarry -n ${quote(condition)} ${isLong ? '-l' : '-s'} ${flag.replace(/^-+/, '')}${allowed}`;
    });
    return [word, ...options];
  });
  const groups = [...groupWords(entries)].filter(([, words]) => words.length > 0);
  const firstWords = groups.map(([first]) => `complete -c quarry -n __fish_use_subcommand -f -a ${first}`);
  return ['# fish completion of quarry', ...firstWords, ...lines].join('\n');
}
