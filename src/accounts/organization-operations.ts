import { SlidingWindowLimiter } from '../admission/sliding-window-limiter.ts';
import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { readAuditPage } from '../audit/audit-page.ts';
import { AppError } from '../core/app-error.ts';
import { KeyedMutex } from '../core/async/mutex.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { rateLimits } from '../core/rate-limits.ts';
import { toTimestamp } from '../core/timestamps.ts';
import type * as wire from '../schemas/accounts.ts';
import type { AuditLogResponse } from '../schemas/audit.ts';
import { type OrganizationStorage, toWireLimits } from '../schemas/organization-limits.ts';
import type { Organization } from '../storage/organizations.ts';
import { ExpectationFailedError } from '../storage/store.ts';
import type { ApiKeyRegistry } from './api-key-registry.ts';
import type { Invitations } from './invitations.ts';
import {
  allRoles,
  type MembershipAuthorizer,
  type OrganizationScopedRequest,
  ownerRoles,
  toActor,
} from './membership-authorizer.ts';
import type { Memberships } from './memberships.ts';
import type { OrganizationDirectory } from './organization-directory.ts';
import { successReply, toApiKeyInfo, toInvitationInfo, toOrganizationInfo } from './organization-replies.ts';
import { checkDisplayText, type UserAccounts, userNotFoundError } from './user-accounts.ts';
import { toOrganizationSummary, type UserCall } from './user-operations.ts';

export interface OrganizationOperationsOptions {
  readonly userAccounts: UserAccounts;
  readonly memberships: Memberships;
  readonly invitations: Invitations;
  readonly organizations: OrganizationDirectory;
  readonly keys: ApiKeyRegistry;
  readonly audit: AuditLog;
  readonly authorizer: MembershipAuthorizer;
  readonly clock: Clock;
  readonly random: Random;
  /**
   * Deletes an organization with all its data. Errors: 404; 409 for the first organization of the
   * installation.
   */
  readonly deleteOrganization: (organizationId: string, by: Actor) => Promise<void>;
  /** Errors: 409 while the organization has unpaid invoices. */
  readonly checkDeletable: (organization: Organization) => Promise<void>;
  /** Maximum number of organizations that one user may own; 0: users cannot create any. */
  readonly ownedOrganizationsMax: number;
  /** Returns the current storage use of an organization. */
  readonly readStorage: (organizationId: string) => Promise<OrganizationStorage>;
  /** Maximum size of one file in bytes. */
  readonly uploadBytesMax: number;
}

/**
 * Operations of users on their organizations. A user who is not a member receives 404, which does not reveal
 * whether the organization exists; a member without the required role receives 403.
 */
export class OrganizationOperations {
  readonly #options: OrganizationOperationsOptions;
  readonly #creationRate: SlidingWindowLimiter;
  readonly #creationMutex = new KeyedMutex();

  constructor(options: OrganizationOperationsOptions) {
    this.#options = options;
    this.#creationRate = new SlidingWindowLimiter(
      'new organizations',
      rateLimits.newOrganizations,
      options.clock,
    );
  }

  /**
   * Errors: 429 if the user owns the maximum number of organizations or creates too many; 403 if users cannot
   * create any.
   */
  async add(call: UserCall, request: wire.AddOrganizationRequest): Promise<wire.AddOrganizationResponse> {
    checkDisplayText('name', request.name);
    if (this.#options.ownedOrganizationsMax === 0) {
      throw new AppError('forbidden', 'On this server, only the administrator can create organizations.');
    }
    // Requests of one user run one after another, so that concurrent ones are counted like consecutive ones.
    return this.#creationMutex.run(call.principal.userId, () => this.#createForUser(call, request));
  }

  async #createForUser(
    call: UserCall,
    request: wire.AddOrganizationRequest,
  ): Promise<wire.AddOrganizationResponse> {
    const { organizations, memberships, random, ownedOrganizationsMax } = this.#options;
    const { userId } = call.principal;
    const owned = (await memberships.listByUser(userId)).filter(({ role }) => role === 'OWNER').length;
    if (owned >= ownedOrganizationsMax) {
      throw new AppError(
        'rate_limited',
        `You own ${owned} organizations, which is the maximum per user. Delete one or transfer its ownership first.`,
        { shouldRetry: false },
      );
    }
    this.#creationRate.consume(userId);
    const organizationId = random.uuid();
    const extraOperations = [
      memberships.expectUserExists(userId),
      ...memberships.ownerOperations({ organizationId, userId }),
    ];
    const created = await organizations
      .createForUser({ organizationId, name: request.name }, toActor(call), extraOperations)
      .catch((error: unknown) => {
        throw error instanceof ExpectationFailedError ? userNotFoundError() : error;
      });
    return { ...toOrganizationSummary(created), permission: 'OWNER' };
  }

  async getInfo(
    call: UserCall,
    request: OrganizationScopedRequest,
  ): Promise<wire.GetOrganizationInfoResponse> {
    const { organization, role } = this.#options.authorizer.authorize(call, request, allRoles);
    const { memberships, invitations, keys, userAccounts, organizations, readStorage, uploadBytesMax } =
      this.#options;
    const { organizationId } = organization;
    const members = await memberships.listByOrganization(organizationId);
    const users = userAccounts.findMany(members.map(({ userId }) => userId));
    return {
      organization: {
        ...toOrganizationInfo(organization),
        rate_limits: toWireLimits(organizations.limitsOf(organizationId), organization.overrides),
        storage: await readStorage(organizationId),
      },
      users: members.flatMap((member, i) => {
        const user = users[i];
        if (user === undefined) return [];
        return [
          {
            user_id: member.userId,
            email: user.email,
            name: user.name,
            permission: member.role,
            joined_at: toTimestamp(member.joinedAt),
            last_login_at: toTimestamp(user.lastLoginAt),
          },
        ];
      }),
      invitations: (await invitations.listByOrganization(organizationId)).map(toInvitationInfo),
      api_keys: (await keys.list(organizationId)).map((key) => toApiKeyInfo(key, keys.lastUsedAt(key), role)),
      upload_bytes_max: uploadBytesMax,
    };
  }

  async rename(
    call: UserCall,
    request: wire.UpdateOrganizationRequest,
  ): Promise<wire.GenericMessageResponse> {
    const { organization } = this.#options.authorizer.authorize(call, request, ownerRoles);
    checkDisplayText('name', request.name);
    const { name } = request;
    await this.#options.organizations.update(organization.organizationId, { name }, toActor(call));
    return successReply;
  }

  /** Errors: 409 for the organization of the installation, which owns `QUARRY_API_KEY` and the first key. */
  async delete(
    call: UserCall,
    request: wire.DeleteOrganizationRequest,
  ): Promise<wire.GenericMessageResponse> {
    const { organization } = this.#options.authorizer.authorize(call, request, ownerRoles);
    const { organizationId, name } = organization;
    if (typeof request.confirm_name === 'string' && request.confirm_name !== name) {
      throw new AppError('bad_request', 'confirm_name does not match the name of the organization.');
    }
    await this.#options.checkDeletable(organization);
    await this.#options.deleteOrganization(organizationId, toActor(call));
    return successReply;
  }

  async auditLog(call: UserCall, request: wire.OrganizationAuditLogRequest): Promise<AuditLogResponse> {
    const { organization } = this.#options.authorizer.authorize(call, request, ownerRoles);
    return readAuditPage(this.#options.audit, organization.organizationId, request);
  }
}
