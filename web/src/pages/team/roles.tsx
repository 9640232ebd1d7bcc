import { organization } from '../../server/session.ts';
import type { TeamRole } from '../../server/team.ts';
import { texts } from '../../texts/en/roles.ts';

/** Roles from most to least permissions. */
const ranks: readonly TeamRole[] = ['OWNER', 'ADMIN', 'MEMBER'];

/** Roles of members from most to least permissions, with labels. */
const roleTexts = (): readonly (readonly [role: TeamRole, name: string, may: string])[] => [
  ['OWNER', texts.owner, texts.fullAccessIncludingMembersBilling],
  ['ADMIN', texts.admin, texts.memberPermissionsPlusManagingApi],
  ['MEMBER', texts.member, texts.managesCollectionsAndDocumentsAnd],
];

export function roleName(role: TeamRole): string {
  return roleTexts().find(([each]) => each === role)?.[1] ?? role;
}

export function rolePermissions(role: TeamRole): string | undefined {
  return roleTexts().find(([each]) => each === role)?.[2];
}

/** Whether the signed-in user has at least `role` in the current organization. */
export function hasRole(role: TeamRole): boolean {
  const ownRole = organization.value?.permission;
  const rank = (role: TeamRole) => ranks.indexOf(role);
  return ownRole !== undefined && rank(ownRole) <= rank(role);
}

interface RoleSelectProps {
  readonly id?: string;
  readonly 'aria-label'?: string;
  readonly 'aria-describedby'?: string | undefined;
  readonly value: TeamRole;
  /** Highest role that can be selected. */
  readonly highest?: TeamRole;
  readonly 'aria-busy'?: boolean;
  readonly onChange: (role: TeamRole) => void;
}

export function RoleSelect({ value, highest = 'OWNER', onChange, ...names }: RoleSelectProps) {
  const from = ranks.indexOf(highest);
  return (
    <select {...names} value={value} onChange={(event) => onChange(event.currentTarget.value as TeamRole)}>
      {roleTexts()
        .slice(from)
        .map(([role, name]) => (
          <option key={role} value={role}>
            {name}
          </option>
        ))}
    </select>
  );
}
