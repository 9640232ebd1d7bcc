import { errors, jwtVerify, SignJWT } from 'jose';
import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../core/app-error.ts';
import { Mutex } from '../core/async/mutex.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import { type Role, roles } from '../schemas/principal.ts';
import { deleteInBatches } from '../storage/delete-in-batches.ts';
import { type Invitation, InvitationRecords } from '../storage/invitations.ts';
import type { Store, WriteOperation } from '../storage/store.ts';
import type { MembershipKey } from './memberships.ts';

export interface InvitationsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly audit: AuditLog;
  /** Secrets of 256 bits. The first signs codes; all are accepted for codes that are still valid. */
  readonly secrets: readonly Uint8Array[];
  /** Returns the current role of a user in an organization. */
  readonly findRole: (key: MembershipKey) => Role | null;
}

/** Claims of an invitation code. */
export type InvitationClaims = Pick<Invitation, 'invitationId' | 'organizationId' | 'email'>;

export interface InvitationInput {
  readonly organizationId: string;
  /** Normalized. */
  readonly email: string;
  readonly role: Role;
  readonly invitedBy: string;
  readonly isMailed?: true;
}

const algorithm = 'HS256';
const tokenType = 'invite+jwt';
const audience = 'quarry invitation';

/**
 * Open invitations. The code is a signed token that names invitation, organization and address. The stored
 * record is authoritative, so a replaced, used or deleted invitation is void immediately. An invitation is
 * also void once its sender could no longer send it, so invitations of a removed member cannot be used.
 */
export class Invitations {
  readonly #options: InvitationsOptions;
  readonly #records: InvitationRecords;
  readonly #changes = new Mutex();

  constructor(options: InvitationsOptions) {
    this.#options = options;
    this.#records = new InvitationRecords(options.store);
  }

  /** Invitations that can still be accepted, newest first. */
  async listByOrganization(organizationId: string): Promise<Invitation[]> {
    return this.#filterOpen(await this.#records.listByOrganization(organizationId));
  }

  async listByEmail(email: string): Promise<Invitation[]> {
    return this.#filterOpen(await this.#records.listByEmail(email));
  }

  /** Creates an invitation. Replaces an earlier one for the same address. */
  invite(input: InvitationInput, by: Actor): Promise<Invitation> {
    return this.#changes.run(async () => {
      const { store, clock, random, audit } = this.#options;
      const createdAt = clock.now();
      const invitation: Invitation = {
        ...input,
        invitationId: random.uuid(),
        createdAt,
        expiresAt: createdAt + limits.invitationMsMax,
      };
      await store.write([
        ...this.#records.put(invitation),
        audit.entryOperation({
          ...by,
          organizationId: input.organizationId,
          action: 'member.invited',
          target: input.email,
          details: { permission: input.role },
        }),
      ]);
      return invitation;
    });
  }

  /** Signs the code that the invited user presents. */
  signCode({ invitationId, organizationId, email, createdAt, expiresAt }: Invitation): Promise<string> {
    return new SignJWT({ email, org: organizationId })
      .setProtectedHeader({ alg: algorithm, typ: tokenType })
      .setAudience(audience)
      .setJti(invitationId)
      .setIssuedAt(Math.floor(createdAt / 1_000))
      .setExpirationTime(Math.floor(expiresAt / 1_000))
      .sign(this.#options.secrets[0]!);
  }

  /**
   * Returns the claims of a code; null if it was not issued here or has expired. Does not check whether the
   * invitation is still open.
   */
  async verifyCode(text: string): Promise<InvitationClaims | null> {
    for (const secret of this.#options.secrets) {
      const code = await this.#verifyWith(secret, text);
      if (code !== null) return code;
    }
    return null;
  }

  async #verifyWith(secret: Uint8Array, code: string): Promise<InvitationClaims | null> {
    const { clock } = this.#options;
    try {
      const { payload } = await jwtVerify<{ email: string; org: string }>(code, secret, {
        algorithms: [algorithm],
        typ: tokenType,
        audience,
        currentDate: new Date(clock.now()),
        requiredClaims: ['jti', 'email', 'org', 'exp'],
      });
      return { invitationId: payload.jti!, organizationId: payload.org, email: payload.email };
    } catch (error) {
      if (error instanceof errors.JOSEError) return null;
      throw error;
    }
  }

  /** Open invitation of an address to an organization. */
  find(organizationId: string, email: string): Invitation | undefined {
    const found = this.#records.get(organizationId, email);
    return found === undefined ? undefined : this.#filterOpen([found])[0];
  }

  /**
   * Operations to be written with the new membership. The write fails if the invitation was used or deleted
   * meanwhile.
   */
  consume(invitation: Invitation): WriteOperation[] {
    return this.#records.delete(invitation);
  }

  /** Deletes expired invitations. Called by periodic maintenance. */
  sweep(now: number, signal?: AbortSignal): Promise<void> {
    const { store } = this.#options;
    const next = async (limit: number) => {
      const expired = await this.#records.listExpired(now, limit);
      return expired.flatMap((invitation) => this.#records.deleteUnconditionally(invitation));
    };
    return deleteInBatches(store, next, signal);
  }

  /** Operations to be written with the deletion of the organization. */
  async deleteAllOperations(organizationId: string): Promise<WriteOperation[]> {
    const open = await this.#records.listByOrganization(organizationId);
    return open.flatMap((invitation) => this.#records.deleteUnconditionally(invitation));
  }

  /** Errors: 404 if the address has no open invitation. */
  delete(organizationId: string, email: string, by: Actor): Promise<void> {
    return this.#changes.run(async () => {
      const invitation = this.#records.get(organizationId, email);
      if (invitation === undefined) throw new AppError('not_found', `${email} has no open invitation.`);
      const { store, audit } = this.#options;
      await store.write(
        [
          ...this.#records.delete(invitation),
          audit.entryOperation({ ...by, organizationId, action: 'invitation.deleted', target: email }),
        ],
        { mayUseReserve: true },
      );
    });
  }

  #filterOpen(invitations: readonly Invitation[]): Invitation[] {
    const now = this.#options.clock.now();
    return invitations
      .filter((invitation) => invitation.expiresAt > now && this.#isInviterAuthorized(invitation))
      .sort((a, b) => b.createdAt - a.createdAt);
  }

  /** Whether the sender may still invite users with this role. */
  #isInviterAuthorized({ organizationId, invitedBy, role }: Invitation): boolean {
    const inviterRole = this.#options.findRole({ organizationId, userId: invitedBy });
    return inviterRole !== null && roles.indexOf(inviterRole) <= roles.indexOf(role);
  }
}

export function invitationNotFoundError(): AppError {
  return new AppError(
    'not_found',
    'This invitation does not exist, has already been used, or was sent to another address.',
  );
}
