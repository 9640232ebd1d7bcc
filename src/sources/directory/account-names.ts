import { readFile } from 'node:fs/promises';

/** Names of the local users and groups by their number; a number without a name stays a number. */
export class AccountNames {
  readonly #users: ReadonlyMap<number, string>;
  readonly #groups: ReadonlyMap<number, string>;

  private constructor(users: ReadonlyMap<number, string>, groups: ReadonlyMap<number, string>) {
    this.#users = users;
    this.#groups = groups;
  }

  static async read(): Promise<AccountNames> {
    return new AccountNames(await readNames('/etc/passwd'), await readNames('/etc/group'));
  }

  user(id: number): string {
    return this.#users.get(id) ?? String(id);
  }

  group(id: number): string {
    return this.#groups.get(id) ?? String(id);
  }
}

async function readNames(path: string): Promise<Map<number, string>> {
  const names = new Map<number, string>();
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch {
    // Systems without this file show numbers.
    return names;
  }
  for (const line of text.split('\n')) {
    const [name, , id] = line.split(':');
    if (name && id && /^\d+$/.test(id)) names.set(Number(id), name);
  }
  return names;
}
