import { ApiKeys } from './api-keys.ts';
import { deleteInBatches } from './delete-in-batches.ts';
import { isDeleted } from './deletions.ts';
import { Identities } from './identities.ts';
import { InvitationRecords } from './invitations.ts';
import { Members } from './members.ts';
import { Organizations } from './organizations.ts';
import { PasskeyRecords } from './passkeys.ts';
import { PasswordRecords } from './passwords.ts';
import { SecondFactorRecords } from './second-factors.ts';
import { SessionRecords } from './sessions.ts';
import type { Store, WriteOperation } from './store.ts';
import { Users } from './users.ts';

const usersPerPage = 256;

/** Number of rows deleted again. */
export interface AppliedDeletions {
  readonly keys: number;
  readonly organizations: number;
  readonly passkeys: number;
  readonly users: number;
}

/**
 * Deletes API keys, organizations, passkeys and users of a restored store that were deleted later, as its ledger of
 * deletions says. Ends all sessions, because some may have been ended later. `now`: milliseconds since the epoch.
 */
export async function applyDeletions(store: Store, now: number): Promise<AppliedDeletions> {
  const organizations = await deleteOrganizations(store, now);
  const keys = await deleteKeys(store);
  const passkeys = await deletePasskeys(store);
  const users = await deleteUsers(store);
  const sessions = new SessionRecords(store);
  await deleteInBatches(store, async (limit) => {
    const ended = await sessions.listEnded(() => true, limit);
    return ended.flatMap((session) => sessions.delete(session));
  });
  return { keys, organizations, passkeys, users };
}

/** Marks them as deleted; the server then removes their data. */
async function deleteOrganizations(store: Store, now: number): Promise<number> {
  const organizations = new Organizations(store);
  const [keys, members, invitations] = [new ApiKeys(store), new Members(store), new InvitationRecords(store)];
  let count = 0;
  for (const organization of await organizations.list()) {
    const { organizationId, deletedAt } = organization;
    if (deletedAt !== undefined || !isDeleted(store, 'organization', organizationId)) continue;
    await store.write([
      ...organizations.update({ ...organization, deletedAt: now }),
      ...(await keys.list(organizationId)).flatMap((key) => keys.delete(key)),
      ...(await members.listByOrganization(organizationId)).flatMap((member) => members.delete(member)),
      ...(await invitations.listByOrganization(organizationId)).flatMap((invitation) =>
        invitations.deleteUnconditionally(invitation),
      ),
    ]);
    count += 1;
  }
  return count;
}

async function deleteKeys(store: Store): Promise<number> {
  const keys = new ApiKeys(store);
  const deletions: WriteOperation[][] = [];
  for (const { organizationId } of await new Organizations(store).list())
    for (const key of await keys.list(organizationId))
      if (isDeleted(store, 'api key', key.keyId)) deletions.push(keys.delete(key));
  if (deletions.length > 0) await store.write(deletions.flat());
  return deletions.length;
}

async function deletePasskeys(store: Store): Promise<number> {
  const passkeys = new PasskeyRecords(store);
  const deleted = await passkeys.listDeleted();
  if (deleted.length > 0) await store.write(deleted.flatMap((passkey) => passkeys.delete(passkey)));
  return deleted.length;
}

async function deleteUsers(store: Store): Promise<number> {
  const passkeys = new PasskeyRecords(store);
  const [users, members, identities] = [new Users(store), new Members(store), new Identities(store)];
  let count = 0;
  let after: string | null = null;
  for (;;) {
    const page = await users.listAfter(after, usersPerPage);
    for (const user of page) {
      if (!isDeleted(store, 'user', user.userId)) continue;
      await store.write([
        ...users.delete(user),
        ...(await members.listByUser(user.userId)).flatMap((member) => members.delete(member)),
        ...(await identities.deleteByUser(user.userId)),
        ...(await passkeys.list(user.userId)).flatMap((passkey) => passkeys.delete(passkey)),
        new SecondFactorRecords(store).delete(user.userId),
        new PasswordRecords(store).delete(user.userId),
      ]);
      count += 1;
    }
    if (page.length < usersPerPage) return count;
    after = page.at(-1)!.userId;
  }
}
