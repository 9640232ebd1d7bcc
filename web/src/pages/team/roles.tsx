import { organization } from '../../server/session.ts';
import type { Role } from '../../server/team.ts';

/** What members may do, from the most to the least, and the words for it. */
export const roles: readonly (readonly [role: Role, name: string, may: string])[] = [
  ['OWNER', 'Owner', 'Everything: people, billing, the audit log, deleting the organisation'],
  ['ADMIN', 'Admin', 'Also issues and revokes API keys'],
  ['MEMBER', 'Member', 'Uses collections and documents, and may invite'],
];

export function roleName(role: Role): string {
  return roles.find(([each]) => each === role)?.[1] ?? role;
}

/** Whether the signed-in person may do in this organisation what takes at least `role`. */
export function mayAs(role: Role): boolean {
  const own = organization.value?.permission;
  const rank = (wanted: Role) => roles.findIndex(([each]) => each === wanted);
  return own !== undefined && rank(own) <= rank(role);
}

interface RoleSelectProps {
  readonly id?: string;
  readonly 'aria-label'?: string;
  readonly 'aria-describedby'?: string | undefined;
  readonly value: Role;
  /** The most that may be chosen. */
  readonly most?: Role;
  readonly 'aria-busy'?: boolean;
  readonly onChange: (role: Role) => void;
}

export function RoleSelect({ value, most = 'OWNER', onChange, ...names }: RoleSelectProps) {
  const from = roles.findIndex(([role]) => role === most);
  return (
    <select {...names} value={value} onChange={(event) => onChange(event.currentTarget.value as Role)}>
      {roles.slice(from).map(([role, name]) => (
        <option key={role} value={role}>
          {name}
        </option>
      ))}
    </select>
  );
}
