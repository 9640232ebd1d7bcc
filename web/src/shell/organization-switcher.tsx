import { Menu } from '../components/menu.tsx';
import { organization, organizations } from '../server/session.ts';
import { texts } from '../texts/en/shell.ts';
import { fill } from '../texts/format-text.ts';
import { Icon } from './icons.tsx';
import { useOrganizationChoice } from './organization-choice.ts';

/** Menu that shows the current organization and switches to another. */
export function OrganizationSwitcher() {
  const choose = useOrganizationChoice();
  const current = organization.value;
  const name = current === null ? texts.noOrganization : current.name;
  return (
    <Menu
      class="switcher"
      name={fill(texts.organizationNameSwitchOrganization, { name })}
      label={
        <>
          <span class="badge" aria-hidden="true" data-letter={[...name][0]?.toUpperCase()} />
          <span class="switcher-name">{name}</span>
          <Icon name="down" />
        </>
      }
    >
      <ul>
        {organizations.value.map(({ organization_id: id, name: each, permission }) => (
          <li key={id}>
            <button type="button" aria-pressed={id === current?.organization_id} onClick={() => choose(id)}>
              <span class="menu-label">{each}</span>
              <span class="muted">{permission.toLowerCase()}</span>
              {id === current?.organization_id && <Icon name="check" />}
            </button>
          </li>
        ))}
        <li class="apart">
          <a href="/app/organizations">
            <Icon name="plus" />
            <span class="menu-label">{texts.createOrJoinAnOrganization}</span>
          </a>
        </li>
      </ul>
    </Menu>
  );
}
