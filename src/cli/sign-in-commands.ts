import { AppError } from '../core/app-error.ts';
import { systemRandom } from '../core/ids.ts';
import type { LoginLinkResponse } from '../schemas/sign-in.ts';
import {
  createOperatorProof,
  type InstallationSecrets,
  readInstallationSecrets,
  writeInstallationSecrets,
} from '../storage/installation-secrets.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { jsonOption } from './command.ts';
import { exitCodes } from './exit-codes.ts';

/** Commands for signing in. */
export const signInCommands: readonly CommandSpec[] = [
  {
    usage: 'login-link',
    settings: 'client',
    summary:
      'print a one-time sign-in link for an owner of the first organization (run on the server machine)',
    options: [
      { flags: '--data <folder>', meaning: 'data directory of the server (QUARRY_DATA)' },
      jsonOption,
    ],
    examples: ['quarry login-link', 'quarry login-link --data /srv/quarry --url http://127.0.0.1:9000'],
    run: loginLink,
  },
  {
    usage: 'rotate-secret',
    settings: 'client',
    summary:
      'rotate the installation secret (stop the server first); earlier secrets stay valid for existing data',
    options: [
      { flags: '--data <folder>', meaning: 'data directory of the server (QUARRY_DATA)' },
      {
        flags: '--forget-earlier',
        meaning: 'invalidate everything signed with earlier secrets, such as invitations and file URLs',
      },
    ],
    examples: ['quarry rotate-secret', 'quarry rotate-secret --forget-earlier --data /srv/quarry'],
    run: rotateSecret,
  },
  {
    usage: 'hash-password',
    settings: 'none',
    summary: 'hash a password for QUARRY_ADMIN_PASSWORD_HASH; prompts for it, or reads standard input',
    examples: ['quarry hash-password', 'quarry hash-password < password.txt'],
    run: hashPasswordCommand,
  },
];

/** Asks the server for a one-time sign-in link, with a proof from its data directory. */
export async function requestLoginLink(
  context: CommandContext,
  options: CommandOptions,
): Promise<LoginLinkResponse> {
  const data = typeof options.data === 'string' ? options.data : context.loaded.settings.data;
  const response = await context.api.send('/api/auth/login-link', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ proof: createOperatorProof(readSecrets(data).secrets[0]!) }),
  });
  return (await response.json()) as LoginLinkResponse;
}

async function loginLink(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const reply = await requestLoginLink(context, options);
  if (options.json === true) {
    context.terminal.out(JSON.stringify(reply));
    return exitCodes.done;
  }
  context.terminal.out(reply.url);
  context.terminal.note(`The link works once, until ${reply.expires_at}.\n`);
  return exitCodes.done;
}

/** Rotates the server secret. A running server keeps using the secrets it read at startup. */
async function rotateSecret(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const data = typeof options.data === 'string' ? options.data : context.loaded.settings.data;
  const found = readSecrets(data);
  const secret = systemRandom.bytes(32);
  const isForgetting = options.forgetEarlier === true;
  const rotated = isForgetting
    ? { secrets: [secret], retired: [...found.secrets, ...found.retired] }
    : { secrets: [secret, ...found.secrets.slice(0, earlierSecretsMax)], retired: found.retired };
  writeInstallationSecrets(data, rotated);
  const note = isForgetting
    ? 'Earlier invitations, sign-in links, file URLs and stored replies are now invalid.'
    : 'Earlier invitations, file URLs and stored replies stay valid.';
  context.terminal.out(
    'The installation secret was rotated. Start the server again; it encrypts stored secrets with the new one.',
  );
  context.terminal.note(`${note}\n`);
  return exitCodes.done;
}

const earlierSecretsMax = 4;

function readSecrets(data: string): InstallationSecrets {
  try {
    return readInstallationSecrets(data);
  } catch (cause) {
    throw new AppError(
      'bad_request',
      `Cannot read the installation secret in ${data}. Run this command as the user of the server and set --data or QUARRY_DATA to its data directory.`,
      { cause },
    );
  }
}

async function hashPasswordCommand(context: CommandContext): Promise<number> {
  const { hashPassword } = await import('../accounts/password.ts');
  const password = await context.terminal.readSecret('Password: ');
  // Imported on demand: the dictionaries of this module are large, and no other command needs them.
  const { findWeakness: weaknessOf } = await import('../accounts/password-strength.ts');
  const weakness = weaknessOf(password);
  if (weakness !== null) throw new AppError('bad_request', `Password rejected: ${weakness}.`);
  context.terminal.out(await hashPassword(password));
  context.terminal.note('Set it as QUARRY_ADMIN_PASSWORD_HASH, in single quotes, and restart the server.\n');
  return exitCodes.done;
}
