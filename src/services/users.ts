import type { Role } from '../schemas/principal.ts';
import type {
  BeginSecondFactorResponse,
  ConfirmSecondFactorResponse,
  SecondFactorCodeRequest,
  SecondFactorStatusResponse,
} from '../schemas/second-factors.ts';
import type { ListUsersRequest, ListUsersResponse, UserListItem, UserRequest } from '../schemas/users.ts';
import { type DefaultResponse, successResponse } from '../schemas/wire.ts';
import { type AdministratorCall, administratorActor, normalizeId, toIsoTime } from './admin.ts';

interface Actor {
  readonly actor: string;
  readonly address: string;
}

interface UserEntry {
  readonly user: {
    readonly userId: string;
    readonly email: string;
    readonly name: string | null;
    readonly createdAt: number;
    readonly lastLoginAt: number;
    readonly disabledAt?: number;
  };
  readonly sessions: number;
  readonly hasSecondFactor: boolean;
  readonly memberships: readonly {
    readonly organizationId: string;
    readonly name: string;
    readonly role: Role;
  }[];
}

/** Subset of `accounts/user-directory`. Errors: 404 for an unknown user, except for the first two. */
export interface AdminUsers {
  listAfter(
    userId: string | null,
    page: { readonly limit: number; readonly search: string | null },
  ): Promise<{ readonly entries: readonly UserEntry[]; readonly next: string | null }>;
  findByEmail(email: string): Promise<UserEntry | null>;
  endSessions(userId: string, by: Actor): Promise<unknown>;
  disable(userId: string, by: Actor): Promise<void>;
  enable(userId: string, by: Actor): Promise<void>;
  resetSecondFactor(userId: string, by: Actor): Promise<void>;
  /** Errors: 409 for the last owner of an organization. */
  delete(userId: string, by: Actor): Promise<void>;
}

/** Second factor of the administrator. */
export interface AdministratorSecondFactor {
  status(): { readonly enabledAt: number | null; readonly recoveryCodesLeft: number };
  begin(): Promise<{ readonly secret: string; readonly url: string }>;
  confirm(code: string, by: Actor): Promise<string[]>;
  disable(code: string, by: Actor): Promise<void>;
}

const pageSizeDefault = 100;

/** Operations of `/v1/admin/*` about users. */
export class UserService {
  readonly #users: AdminUsers;
  readonly #administrator: AdministratorSecondFactor;

  constructor(users: AdminUsers, administrator: AdministratorSecondFactor) {
    this.#users = users;
    this.#administrator = administrator;
  }

  async resetSecondFactor(call: AdministratorCall, request: UserRequest): Promise<DefaultResponse> {
    await this.#users.resetSecondFactor(normalizeId(request.user_id), administratorActor(call));
    return successResponse;
  }

  async getAdministratorSecondFactor(): Promise<SecondFactorStatusResponse> {
    const { enabledAt, recoveryCodesLeft } = this.#administrator.status();
    return {
      is_enabled: enabledAt !== null,
      enabled_at: toIsoTime(enabledAt),
      recovery_codes_left: recoveryCodesLeft,
    };
  }

  /** Errors: 409 while the second factor is enabled. */
  async beginAdministratorSecondFactor(): Promise<BeginSecondFactorResponse> {
    const { secret, url } = await this.#administrator.begin();
    return { secret, otpauth_url: url };
  }

  /** Errors: 400 for a wrong code, or before `beginAdministratorSecondFactor`. */
  async confirmAdministratorSecondFactor(
    call: AdministratorCall,
    { code }: SecondFactorCodeRequest,
  ): Promise<ConfirmSecondFactorResponse> {
    return { recovery_codes: await this.#administrator.confirm(code, administratorActor(call)) };
  }

  /** Errors: 400 for a wrong code, or while the second factor is disabled. */
  async disableAdministratorSecondFactor(
    call: AdministratorCall,
    { code }: SecondFactorCodeRequest,
  ): Promise<DefaultResponse> {
    await this.#administrator.disable(code, administratorActor(call));
    return successResponse;
  }

  async listUsers(_call: AdministratorCall, request: ListUsersRequest): Promise<ListUsersResponse> {
    const { after, limit, email, search } = request;
    if (typeof email === 'string') {
      const user = await this.#users.findByEmail(email.trim().toLowerCase());
      return { users: user === null ? [] : [toUserListItem(user)], next_after: null };
    }
    const page = await this.#users.listAfter(typeof after === 'string' ? normalizeId(after) : null, {
      limit: limit ?? pageSizeDefault,
      search: typeof search === 'string' ? search : null,
    });
    return { users: page.entries.map(toUserListItem), next_after: page.next };
  }

  async endUserSessions(call: AdministratorCall, request: UserRequest): Promise<DefaultResponse> {
    await this.#users.endSessions(normalizeId(request.user_id), administratorActor(call));
    return successResponse;
  }

  async disableUser(call: AdministratorCall, request: UserRequest): Promise<DefaultResponse> {
    await this.#users.disable(normalizeId(request.user_id), administratorActor(call));
    return successResponse;
  }

  async enableUser(call: AdministratorCall, request: UserRequest): Promise<DefaultResponse> {
    await this.#users.enable(normalizeId(request.user_id), administratorActor(call));
    return successResponse;
  }

  async deleteUser(call: AdministratorCall, request: UserRequest): Promise<DefaultResponse> {
    await this.#users.delete(normalizeId(request.user_id), administratorActor(call));
    return successResponse;
  }
}

function toUserListItem({ user, sessions, hasSecondFactor, memberships }: UserEntry): UserListItem {
  return {
    user_id: user.userId,
    email: user.email,
    name: user.name,
    created_at: new Date(user.createdAt).toISOString(),
    last_login_at: new Date(user.lastLoginAt).toISOString(),
    disabled_at: toIsoTime(user.disabledAt),
    sessions,
    second_factor: hasSecondFactor,
    organizations: memberships.map(({ organizationId, name, role }) => ({
      organization_id: organizationId,
      name,
      permission: role,
    })),
  };
}
