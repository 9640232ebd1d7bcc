import type { SecondFactorEnrollment } from '../accounts/second-factors.ts';
import type { UserDirectory, UserEntry } from '../accounts/user-directory.ts';
import type { Actor } from '../audit/audit-log.ts';
import { toOptionalTimestamp, toTimestamp } from '../core/timestamps.ts';
import {
  type DeleteUserPasskeysRequest,
  type ListUserPasskeysResponse,
  toPasskeyInfo,
} from '../schemas/passkeys.ts';
import type { PasswordLinkResponse } from '../schemas/passwords.ts';
import {
  type BeginSecondFactorResponse,
  type ConfirmSecondFactorResponse,
  type SecondFactorCodeRequest,
  type SecondFactorStatus,
  type SecondFactorStatusResponse,
  toSecondFactorStatusResponse,
} from '../schemas/second-factors.ts';
import type { ListUsersRequest, ListUsersResponse, UserListItem, UserRequest } from '../schemas/users.ts';
import { type DefaultResponse, successResponse } from '../schemas/wire.ts';
import { type AdministratorCall, administratorActor, normalizeId } from './admin.ts';

type AdminUsers = Pick<
  UserDirectory,
  | 'listAfter'
  | 'findByEmail'
  | 'endSessions'
  | 'disable'
  | 'enable'
  | 'resetSecondFactor'
  | 'createPasswordLink'
  | 'listPasskeys'
  | 'deletePasskeys'
  | 'delete'
>;

/** Second factor of the administrator. */
interface AdministratorSecondFactor {
  status(): SecondFactorStatus;
  begin(): Promise<SecondFactorEnrollment>;
  confirm(code: string, by: Actor): Promise<string[]>;
  disable(code: string, by: Actor): Promise<void>;
}

const pageSizeDefault = 100;

/** Operations of `/v1/admin/*` about users. */
export class UserService {
  readonly #users: AdminUsers;
  readonly #administrator: AdministratorSecondFactor;
  readonly #publicUrl: () => string;

  /** `publicUrl`: `https://host` of links; never taken from a request. */
  constructor(users: AdminUsers, administrator: AdministratorSecondFactor, publicUrl: () => string) {
    this.#publicUrl = publicUrl;
    this.#users = users;
    this.#administrator = administrator;
  }

  async resetSecondFactor(call: AdministratorCall, request: UserRequest): Promise<DefaultResponse> {
    await this.#users.resetSecondFactor(normalizeId(request.user_id), administratorActor(call));
    return successResponse;
  }

  async createPasswordLink(call: AdministratorCall, request: UserRequest): Promise<PasswordLinkResponse> {
    const userId = normalizeId(request.user_id);
    const { token, expiresAt } = await this.#users.createPasswordLink(userId, administratorActor(call));
    // In the fragment, which no server or proxy logs.
    const url = `${this.#publicUrl()}/app/password#${token}`;
    return { url, expires_at: toTimestamp(expiresAt) };
  }

  async listUserPasskeys(_call: AdministratorCall, request: UserRequest): Promise<ListUserPasskeysResponse> {
    const passkeys = await this.#users.listPasskeys(normalizeId(request.user_id));
    return { passkeys: passkeys.map(toPasskeyInfo) };
  }

  async deleteUserPasskeys(
    call: AdministratorCall,
    { user_id: userId, passkey_id: passkeyId }: DeleteUserPasskeysRequest,
  ): Promise<DefaultResponse> {
    const onlyId = typeof passkeyId === 'string' ? normalizeId(passkeyId) : null;
    await this.#users.deletePasskeys(normalizeId(userId), onlyId, administratorActor(call));
    return successResponse;
  }

  async getAdministratorSecondFactor(): Promise<SecondFactorStatusResponse> {
    return toSecondFactorStatusResponse(this.#administrator.status());
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

function toUserListItem({ user, sessions, hasSecondFactor, passkeys, memberships }: UserEntry): UserListItem {
  return {
    user_id: user.userId,
    email: user.email,
    name: user.name,
    created_at: toTimestamp(user.createdAt),
    last_login_at: toTimestamp(user.lastLoginAt),
    disabled_at: toOptionalTimestamp(user.disabledAt),
    sessions,
    second_factor: hasSecondFactor,
    passkeys,
    organizations: memberships.map(({ organizationId, name, role }) => ({
      organization_id: organizationId,
      name,
      permission: role,
    })),
  };
}
