import { RateWindow } from '../admission/rate-window.ts';
import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { auditPage } from '../audit/audit-page.ts';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import type { Chance } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { KeyedMutex } from '../core/async/mutex.ts';
import type * as wire from '../schemas/accounts.ts';
import type { AuditLogResponse } from '../schemas/audit.ts';
import { limitsToShow, type OrganizationStorage, overridesToShow } from '../schemas/organisation-limits.ts';
import { type KeyRestriction, type Role, roles } from '../schemas/principal.ts';
import type { ApiKey } from '../store/api-keys.ts';
import type { Invitation } from '../store/invitations.ts';
import type { Organisation } from '../store/organisations.ts';
import { ExpectationFailed } from '../store/store.ts';
import type { User } from '../store/users.ts';
import { normalisedEmail } from './email-address.ts';
import { type InvitationCode, type Invitations, noInvitation } from './invitations.ts';
import { type KeyRing, restrictionOf } from './key-ring.ts';
import type { Mail } from './mail.ts';
import { actorOf, everybody, type MembershipGate, managers, type Named, owners } from './membership-gate.ts';
import type { Memberships } from './memberships.ts';
import type { OrganisationDirectory } from './organisation-directory.ts';
import { checkText, noUser, type People } from './people.ts';
import { organisationOfUser, type PersonCall, timestamp } from './user-operations.ts';

export interface OrganisationOperationsOptions {
  readonly people: People;
  readonly memberships: Memberships;
  readonly invitations: Invitations;
  readonly organisations: OrganisationDirectory;
  readonly keys: KeyRing;
  readonly audit: AuditLog;
  readonly gate: MembershipGate;
  readonly mail: Mail;
  readonly clock: Clock;
  readonly chance: Chance;
  /** `https://host` that links in mails start with: never what a request says. */
  readonly linkBase: () => string;
  /** Ends an organisation with all that it has. Errors: 404, 409 for the first of the installation. */
  readonly end: (organizationId: string, by: Actor) => Promise<void>;
  /** Errors: 409 while it owes something. */
  readonly mayEnd: (organisation: Organisation) => Promise<void>;
  /** Organisations that one person may own; 0: people found none. */
  readonly ownedMax: number;
  /** What an organisation stores now. */
  readonly storageOf: (organizationId: string) => Promise<OrganizationStorage>;
  /** Of one file. */
  readonly uploadBytesMax: number;
}

const hour = 3_600_000;

/**
 * What people do with their organisations. Who does not belong to one learns nothing of it, not even that it exists:
 * 404; who belongs to it and may not do something is told so: 403.
 */
export class OrganisationOperations {
  readonly #options: OrganisationOperationsOptions;
  readonly #foundings: RateWindow;
  readonly #foundingsInTurn = new KeyedMutex();
  readonly #invitationsOfPerson: RateWindow;
  readonly #invitationsOfOrganisation: RateWindow;
  readonly #invitationsToAddress: RateWindow;

  constructor(options: OrganisationOperationsOptions) {
    this.#options = options;
    const { clock } = options;
    this.#foundings = new RateWindow('new organisations', [{ ms: hour, max: 20 }], clock);
    // Or whoever founds one organisation after another could write to anybody without end.
    this.#invitationsOfPerson = new RateWindow('invitations', [{ ms: hour, max: 60 }], clock);
    this.#invitationsOfOrganisation = new RateWindow('invitations', [{ ms: hour, max: 20 }], clock);
    this.#invitationsToAddress = new RateWindow(
      'invitations to one address',
      [{ ms: 60_000, max: 1 }],
      clock,
    );
  }

  /** 429 when the person owns as many organisations as anybody may, or founds too many; 403 where nobody may. */
  async add(call: PersonCall, request: wire.AddOrganizationRequest): Promise<wire.AddOrganizationResponse> {
    checkText('name', request.name);
    if (this.#options.ownedMax === 0) {
      throw new AppError('forbidden', 'On this server only the administrator creates organisations.');
    }
    // One after another, so that many of one person at the same moment are counted like as many in a row.
    return this.#foundingsInTurn.run(call.principal.userId, () => this.#found(call, request));
  }

  async #found(
    call: PersonCall,
    request: wire.AddOrganizationRequest,
  ): Promise<wire.AddOrganizationResponse> {
    const { organisations, memberships, chance, ownedMax } = this.#options;
    const { userId } = call.principal;
    const owned = (await memberships.ofUser(userId)).filter(({ role }) => role === 'OWNER').length;
    if (owned >= ownedMax) {
      throw new AppError(
        'rate_limited',
        `You own ${owned} organisations, the most that one person may: delete one or hand it over first.`,
        { shouldRetry: false },
      );
    }
    this.#foundings.take(userId);
    const organizationId = chance.uuid();
    const founder = [memberships.userExists(userId), ...memberships.founder({ organizationId, userId })];
    const made = await organisations
      .found({ organizationId, name: request.name }, actorOf(call), founder)
      .catch((error: unknown) => {
        throw error instanceof ExpectationFailed ? noUser() : error;
      });
    return { ...organisationOfUser(made), permission: 'OWNER' };
  }

  async getInfo(call: PersonCall, request: Named): Promise<wire.GetOrganizationInfoResponse> {
    const { organisation, role } = this.#options.gate.enter(call, request, everybody);
    const { memberships, invitations, keys, people, organisations, storageOf, uploadBytesMax } =
      this.#options;
    const { organizationId } = organisation;
    const members = await memberships.ofOrganisation(organizationId);
    const users = people.findMany(members.map(({ userId }) => userId));
    return {
      organization: {
        ...organisationInfo(organisation),
        rate_limits: limitsToShow(organisations.limitsOf(organizationId), organisation.overrides),
        storage: await storageOf(organizationId),
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
            joined_at: timestamp(member.joinedAt),
            last_login_at: timestamp(user.lastLoginAt),
          },
        ];
      }),
      invitations: (await invitations.ofOrganisation(organizationId)).map(invitationInfo),
      api_keys: (await keys.list(organizationId)).map((key) => keyInfo(key, keys.lastUse(key), role)),
      upload_bytes_max: uploadBytesMax,
    };
  }

  async rename(
    call: PersonCall,
    request: wire.UpdateOrganizationRequest,
  ): Promise<wire.GenericMessageResponse> {
    const { organisation } = this.#options.gate.enter(call, request, owners);
    checkText('name', request.name);
    const { name } = request;
    await this.#options.organisations.update(organisation.organizationId, { name }, actorOf(call));
    return done;
  }

  /** 409 for the organisation of the installation: `QUARRY_API_KEY` and the first key belong to it. */
  async delete(
    call: PersonCall,
    request: wire.DeleteOrganizationRequest,
  ): Promise<wire.GenericMessageResponse> {
    const { organisation } = this.#options.gate.enter(call, request, owners);
    const { organizationId, name } = organisation;
    if (typeof request.confirm_name === 'string' && request.confirm_name !== name) {
      throw new AppError('bad_request', 'confirm_name is not the name of the organisation.');
    }
    await this.#options.mayEnd(organisation);
    await this.#options.end(organizationId, actorOf(call));
    return done;
  }

  /** Anybody may invite, nobody to more than they may do themselves. */
  async invite(call: PersonCall, request: wire.InviteUserRequest): Promise<wire.InviteUserResponse> {
    const { organisation, role } = this.#options.gate.enter(call, request, everybody);
    const { organizationId } = organisation;
    const wanted: Role = request.permission ?? 'MEMBER';
    if (roles.indexOf(wanted) < roles.indexOf(role)) {
      this.#options.gate.deny(call, organizationId, role);
      throw new AppError('forbidden', `You are ${role} and may not invite somebody as ${wanted}.`);
    }
    const email = normalisedEmail(request.email);
    const { people, memberships, invitations, mail } = this.#options;
    const known = people.byEmail(email);
    if (known !== undefined && memberships.roleOf({ organizationId, userId: known.userId }) !== null) {
      return { invitation: null, status: 'already_member', message: `${email} is a member already.` };
    }
    const invitedBy = call.principal.userId;
    this.#invitationsToAddress.take(`${organizationId} ${email}`);
    this.#invitationsOfPerson.take(invitedBy);
    this.#invitationsOfOrganisation.take(organizationId);
    const invitation = await invitations.invite(
      { organizationId, email, role: wanted, invitedBy },
      actorOf(call),
    );
    const code = await invitations.codeOf(invitation);
    const reply = { invitation: invitationInfo(invitation), status: 'invited' } as const;
    if (!mail.isOn) {
      const message = 'The server sends no mail: hand the code on yourself.';
      return { ...reply, message, invite_code: code };
    }
    const from = people.find(invitedBy)?.email ?? '';
    const server = this.#options.linkBase();
    mail.post(letterOf({ organisation, invitation, code, from, server }), organizationId);
    return { ...reply, message: `An invitation is on its way to ${email}.` };
  }

  /** 404 with one sentence for every code that opens nothing, and for one that was meant for somebody else. */
  async acceptInvite(
    call: PersonCall,
    request: wire.AcceptInviteRequest,
  ): Promise<wire.AcceptInviteResponse> {
    const { people, invitations } = this.#options;
    const read = await invitations.read(request.invite_code);
    const user = people.find(call.principal.userId);
    if (read === null || user === undefined) throw noInvitation();
    return this.#accept(user, read, actorOf(call));
  }

  /** For a sign-in that began with a code. False when that opens nothing for who signed in. */
  async acceptSignedIn(user: User, read: InvitationCode, address: string): Promise<boolean> {
    try {
      await this.#accept(user, read, { actor: user.userId, address });
      return true;
    } catch (error) {
      if (error instanceof AppError && error.code === 'not_found') return false;
      throw error;
    }
  }

  async #accept(
    { userId, email }: User,
    read: InvitationCode,
    by: Actor,
  ): Promise<wire.AcceptInviteResponse> {
    const { memberships, invitations, organisations } = this.#options;
    if (email !== read.email) throw noInvitation();
    const { organizationId } = read;
    const organisation = organisations.find(organizationId);
    if (organisation === undefined) throw noInvitation();
    const place = { organizationId, userId };
    const invitation = invitations.find(organizationId, email);
    if (invitation?.invitationId !== read.invitationId) {
      const role = memberships.roleOf(place);
      if (role === null) throw noInvitation();
      return { organization_id: organizationId, name: organisation.name, permission: role };
    }
    const sender = { organizationId, userId: invitation.invitedBy };
    const joining = {
      role: invitation.role,
      by,
      alongside: [
        memberships.userExists(userId),
        memberships.stillAtLeast(sender, invitation.role),
        ...invitations.consume(invitation),
      ],
    };
    const permission = await memberships.join(place, joining).catch((error: unknown) => {
      if (!(error instanceof ExpectationFailed)) throw error;
      // Sent twice at the same moment: the other one was faster.
      const role = memberships.roleOf(place);
      if (role === null) throw noInvitation();
      return role;
    });
    return { organization_id: organizationId, name: organisation.name, permission };
  }

  async deleteInvite(
    call: PersonCall,
    request: wire.DeleteInviteUserRequest,
  ): Promise<wire.DeleteInviteUserResponse> {
    const { organisation } = this.#options.gate.enter(call, request, owners);
    const email = normalisedEmail(request.email);
    await this.#options.invitations.delete(organisation.organizationId, email, actorOf(call));
    return done;
  }

  async updateUser(call: PersonCall, request: wire.UpdateUserRequest): Promise<wire.UpdateUserResponse> {
    const { organisation } = this.#options.gate.enter(call, request, owners);
    const { permission } = request;
    const place = { organizationId: organisation.organizationId, userId: request.user_id.toLowerCase() };
    await this.#options.memberships.change(place, permission, actorOf(call));
    return { user_id: place.userId, permission };
  }

  async removeUser(call: PersonCall, request: wire.RemoveUserRequest): Promise<wire.RemoveUserResponse> {
    const userId = request.user_id.toLowerCase();
    const isSelf = userId === call.principal.userId;
    const { organisation } = this.#options.gate.enter(call, request, isSelf ? everybody : owners);
    const place = { organizationId: organisation.organizationId, userId };
    await this.#options.memberships.remove(place, actorOf(call));
    return done;
  }

  async addKey(call: PersonCall, request: wire.AddAPIKeyRequest): Promise<wire.AddAPIKeyResponse> {
    const { organisation } = this.#options.gate.enter(call, request, managers);
    checkText('name', request.name);
    const { organizationId } = organisation;
    const { name, permission, expires_at } = request;
    const createdBy = call.principal.userId;
    const end = typeof expires_at === 'string' ? { expiresAt: Date.parse(expires_at) } : {};
    const wanted = { organizationId, name, permission, createdBy, restriction: askedRestriction(request) };
    const { secret, key } = await this.#options.keys.issue(
      { ...wanted, ...end, keysMax: limits.keysOfMembersMax },
      actorOf(call),
    );
    const times = { created_at: timestamp(key.createdAt), expires_at: optionalTime(key.expiresAt) };
    const restriction = shownRestriction(key);
    return { api_key: secret, id: key.keyId, name, permission, ...times, restriction };
  }

  async updateKey(call: PersonCall, request: wire.UpdateAPIKeyRequest): Promise<wire.GenericMessageResponse> {
    const { organisation } = this.#options.gate.enter(call, request, managers);
    const { name, permission } = request;
    const restriction = askedRestriction(request);
    if ((name ?? permission ?? restriction ?? null) === null) {
      throw new AppError('bad_request', 'Nothing to change is given: send name, permission or restriction.');
    }
    if (typeof name === 'string') checkText('name', name);
    const place = { organizationId: organisation.organizationId, keyId: request.api_key_id.toLowerCase() };
    await this.#options.keys.update(place, { name, permission, restriction }, actorOf(call));
    return done;
  }

  async deleteKey(call: PersonCall, request: wire.DeleteAPIKeyRequest): Promise<wire.GenericMessageResponse> {
    const { organisation } = this.#options.gate.enter(call, request, managers);
    const place = { organizationId: organisation.organizationId, keyId: request.api_key_id.toLowerCase() };
    await this.#options.keys.revoke(place, actorOf(call));
    return done;
  }

  async auditLog(call: PersonCall, request: wire.OrganizationAuditLogRequest): Promise<AuditLogResponse> {
    const { organisation } = this.#options.gate.enter(call, request, owners);
    return auditPage(this.#options.audit, organisation.organizationId, request);
  }
}

const done = Object.freeze({ message: 'Success!' });

interface Inviting {
  readonly organisation: Organisation;
  readonly invitation: Invitation;
  readonly code: string;
  /** Address of whoever invited. */
  readonly from: string;
  /** Address of this server. */
  readonly server: string;
}

function letterOf({ organisation, invitation, code, from, server }: Inviting) {
  const until = timestamp(invitation.expiresAt).slice(0, 10);
  return {
    to: invitation.email,
    subject: `You are invited to ${organisation.name}`,
    text: [
      `${from} invites you to the organisation ${organisation.name} on ${server}.`,
      '',
      'Open this link to join, and sign in with the address that this mail came to:',
      `${server}/app/join#${code}`,
      '',
      `It works until ${until}. If you did not expect it, do nothing.`,
    ].join('\n'),
  };
}

function organisationInfo(found: Organisation): Omit<wire.OrganizationInfo, 'rate_limits' | 'storage'> {
  return {
    ...organisationOfUser(found),
    zdr: found.zdr,
    ...overridesToShow(found.overrides),
  };
}

function invitationInfo({
  invitationId,
  email,
  role,
  createdAt,
  expiresAt,
}: Invitation): wire.InvitationInfo {
  return {
    id: invitationId,
    email,
    permission: role,
    status: 'pending',
    created_at: timestamp(createdAt),
    expires_at: timestamp(expiresAt),
  };
}

function optionalTime(milliseconds: number | null | undefined): string | null {
  return milliseconds === null || milliseconds === undefined ? null : timestamp(milliseconds);
}

function keyInfo(key: ApiKey, lastUse: number | null, reader: Role): wire.OrganizationAPIKey {
  return {
    id: key.keyId,
    name: key.name,
    permission: key.permission,
    created_at: timestamp(key.createdAt),
    created_by: key.createdBy,
    expires_at: optionalTime(key.expiresAt),
    last_used_at: optionalTime(lastUse),
    restriction: shownRestriction(key),
    // Whoever may not manage keys gets enough to tell them apart.
    api_key: reader === 'MEMBER' ? key.masked.replace(/….*$/u, '…') : key.masked,
  };
}

function askedRestriction({
  restriction,
}: Pick<wire.AddAPIKeyRequest, 'restriction'>): KeyRestriction | null {
  return restriction ? { collections: restriction.collection_names, filter: restriction.filter } : null;
}

function shownRestriction(key: ApiKey): wire.OrganizationAPIKey['restriction'] {
  const restriction = restrictionOf(key);
  if (restriction === null) return null;
  const { collections, filter } = restriction;
  return { collection_names: collections && [...collections], filter: filter && { ...filter } };
}
