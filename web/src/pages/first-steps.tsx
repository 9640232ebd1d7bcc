import { LinkButton } from '../parts/button.tsx';
import { hasRole } from './team/roles.tsx';

const steps = (mayCreateKeys: boolean) => [
  {
    title: 'Put documents in',
    words:
      'Drop files or a whole folder: PDF, Office, HTML, mails, e-books, scans, text. They stay on this server.',
    to: '/app/upload',
    action: 'Upload documents',
  },
  {
    title: 'Ask',
    words: 'Ask in your own words and see the passages that answer, marked, with the page they stand on.',
    to: '/app/playground',
    action: 'Open the playground',
  },
  {
    title: 'Build it in',
    words: mayCreateKeys
      ? 'Create an API key, and copy the call from the playground as curl, Node or Python.'
      : 'Get an API key from an owner or an admin, and copy the call from the playground as curl, Node or Python.',
    to: '/app/keys',
    action: mayCreateKeys ? 'Create a key' : 'See the keys',
  },
];

/** First steps for an organization without documents. */
export function FirstSteps() {
  return (
    <section class="card first-steps" aria-label="First steps">
      <ol>
        {steps(hasRole('ADMIN')).map(({ title, words: text, to, action }, i) => (
          <li key={to}>
            <h2>{title}</h2>
            <p class="soft">{text}</p>
            <LinkButton href={to} tone={i === 0 ? 'primary' : 'plain'}>
              {action}
            </LinkButton>
          </li>
        ))}
      </ol>
    </section>
  );
}
