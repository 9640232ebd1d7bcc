import { useLocation } from 'preact-iso';
import { Menu } from '../parts/menu.tsx';
import { chooseOrganization, organization, organizations } from '../server/session.ts';
import { Picture } from './pictures.tsx';

/** Which organisation the pages show, and the way to another. */
export function OrganisationSwitcher() {
  const { path, url, route } = useLocation();
  const place = organization.value;
  // What the address names may not be there in the other one.
  const choose = (id: string) => {
    const to = path === '/app/document' ? '/app/documents' : path;
    if (url !== to) route(to);
    chooseOrganization(id);
  };
  const name = place === null ? 'No organisation' : place.name;
  return (
    <Menu
      class="switcher"
      name={`Organisation: ${name}. Change it`}
      label={
        <>
          <span class="badge" aria-hidden="true" data-letter={[...name][0]?.toUpperCase()} />
          <span class="switcher-name">{name}</span>
          <Picture of="down" />
        </>
      }
    >
      <ul>
        {organizations.value.map(({ organization_id: id, name: each, permission }) => (
          <li key={id}>
            <button type="button" aria-pressed={id === place?.organization_id} onClick={() => choose(id)}>
              <span class="menu-words">{each}</span>
              <span class="soft">{permission.toLowerCase()}</span>
              {id === place?.organization_id && <Picture of="check" />}
            </button>
          </li>
        ))}
        <li class="apart">
          <a href="/app/organizations">
            <Picture of="plus" />
            <span class="menu-words">Create or join an organisation</span>
          </a>
        </li>
      </ul>
    </Menu>
  );
}
