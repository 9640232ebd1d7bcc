import { AppError } from '../core/app-error.ts';
import type { PasswordLinkResponse } from '../schemas/passwords.ts';
import type { ListUsersResponse, UserListItem } from '../schemas/users.ts';
import { requireConfirmation } from './collections.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { jsonOption, yesOption } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { printTable } from './terminal.ts';

interface UserAction {
  /** Second word of the command. */
  readonly verb: string;
  readonly operation: string;
  readonly summary: string;
  /** Confirmation question; null if no confirmation is needed. */
  readonly question: ((email: string) => string) | null;
  /** Text to print; `reply` is that of the operation. */
  readonly message: (email: string, reply: unknown) => string;
}

const actions: readonly UserAction[] = [
  {
    verb: 'end-sessions',
    operation: 'end-user-sessions',
    summary: 'end all sessions of a user (needs the admin key)',
    question: null,
    message: (email) => `All sessions of ${email} ended.`,
  },
  {
    verb: 'disable',
    operation: 'disable-user',
    summary: 'end the sessions of a user and block sign-in (needs the admin key)',
    question: (email) => `Disable ${email}? All sessions end, and sign-in is blocked.`,
    message: (email) => `${email} disabled.`,
  },
  {
    verb: 'enable',
    operation: 'enable-user',
    summary: 'allow a disabled user to sign in again (needs the admin key)',
    question: null,
    message: (email) => `${email} enabled.`,
  },
  {
    verb: 'reset-second-factor',
    operation: 'reset-second-factor',
    summary: 'remove the second factor of a user (needs the admin key)',
    question: (email) => `Remove the second factor of ${email}?`,
    message: (email) => `Second factor of ${email} removed.`,
  },
  {
    verb: 'delete-passkeys',
    operation: 'delete-user-passkeys',
    summary: 'delete all passkeys of a user (needs the admin key)',
    question: (email) => `Delete all passkeys of ${email}?`,
    message: (email) => `All passkeys of ${email} deleted.`,
  },
  {
    verb: 'password-link',
    operation: 'create-password-link',
    summary: 'print a link with which a user can choose a new password (needs the admin key)',
    question: null,
    message: (email, reply) => {
      const { url, expires_at } = reply as PasswordLinkResponse;
      return `Send this link to ${email}. It works once, until ${expires_at}:\n${url}`;
    },
  },
  {
    verb: 'delete',
    operation: 'delete-user',
    summary: 'delete a user permanently (needs the admin key)',
    question: (email) => `Delete ${email} with profile, sessions, memberships and passkeys?`,
    message: (email) => `${email} deleted.`,
  },
];

const searchOption = {
  flags: '--search <text>',
  meaning: 'only users whose email address or name contains this text',
};

export const userCommands: readonly CommandSpec[] = [
  {
    usage: 'users list',
    settings: 'client',
    summary: 'list all users (needs the admin key)',
    options: [searchOption, jsonOption],
    examples: ['QUARRY_ADMIN_KEY=... quarry users list', 'quarry users list --search ada'],
    run: list,
  },
  ...actions.map(
    (action): CommandSpec => ({
      usage: `users ${action.verb} <email>`,
      settings: 'client',
      summary: action.summary,
      options: [...(action.question === null ? [] : [yesOption]), jsonOption],
      examples: [`quarry users ${action.verb} ada@example.com`],
      run: (context, args, options) => runAction(context, args, options, action),
    }),
  ),
];

async function list(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const users: UserListItem[] = [];
  for (let after: string | null = null, pages = 0; after !== null || pages === 0; pages += 1) {
    const page: ListUsersResponse = await context.administration.call('admin/list-users', {
      after,
      search: typeof options.search === 'string' ? options.search : null,
    });
    users.push(...page.users);
    after = page.next_after;
  }
  if (options.json === true) {
    context.terminal.out(JSON.stringify({ users }));
    return exitCodes.done;
  }
  const rows = users.map((user) => [
    user.email,
    user.name ?? '',
    user.organizations.map(({ name, permission }) => `${name} (${permission})`).join(', '),
    String(user.sessions),
    user.second_factor ? 'on' : 'off',
    String(user.passkeys),
    user.last_login_at,
    user.disabled_at === null ? '' : 'disabled',
  ]);
  const headings = [
    'Email',
    'Name',
    'Organizations',
    'Sessions',
    'Second factor',
    'Passkeys',
    'Last sign-in',
    'State',
  ];
  printTable(context.terminal, headings, rows);
  return exitCodes.done;
}

async function runAction(
  context: CommandContext,
  args: readonly string[],
  options: CommandOptions,
  { operation, question, message }: UserAction,
): Promise<number> {
  const email = args[0]!;
  const { users } = await context.administration.call<ListUsersResponse>('admin/list-users', { email });
  const [user] = users;
  if (user === undefined) throw new AppError('not_found', `There is no user with the address ${email}.`);
  if (question !== null && options.yes !== true) await requireConfirmation(context, question(user.email));
  const reply = await context.administration.call(`admin/${operation}`, { user_id: user.user_id });
  context.terminal.out(options.json === true ? JSON.stringify(reply) : message(user.email, reply));
  return exitCodes.done;
}
