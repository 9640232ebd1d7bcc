import type { CommandContext, CommandOptions } from './command.ts';
import { exitCodes } from './exit-codes.ts';

/** Calls an operation that changes something, and prints its reply with `--json`, else "Done.". Returns the exit code. */
export async function sendChange(
  { api, terminal }: CommandContext,
  options: CommandOptions,
  operation: string,
  request: object,
): Promise<number> {
  const reply = await api.call(operation, request);
  terminal.out(options.json === true ? JSON.stringify(reply) : 'Done.');
  return exitCodes.done;
}
