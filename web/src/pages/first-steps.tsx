import { LinkButton } from '../components/button.tsx';
import { hasRole } from './team/roles.tsx';

const steps = (mayCreateKeys: boolean) => [
  {
    title: 'Upload documents',
    text: 'Upload files or folders: PDF, Office, HTML, email, e-books, scans and text. All data stays on this server.',
    to: '/app/upload',
    action: 'Upload documents',
  },
  {
    title: 'Run a query',
    text: 'Enter a question. Matching text is highlighted and shown with its page.',
    to: '/app/search',
    action: 'Search',
  },
  {
    title: 'Use the API',
    text: mayCreateKeys
      ? 'Create an API key and copy the request from the search page as curl, Node.js or Python.'
      : 'Get an API key from an owner or admin and copy the request from the search page as curl, Node.js or Python.',
    to: '/app/keys',
    action: mayCreateKeys ? 'Create key' : 'View keys',
  },
];

/** First steps for an organization without documents. */
export function FirstSteps() {
  return (
    <section class="card first-steps" aria-label="First steps">
      <ol>
        {steps(hasRole('ADMIN')).map(({ title, text, to, action }, i) => (
          <li key={to}>
            <h2>{title}</h2>
            <p class="muted">{text}</p>
            <LinkButton href={to} tone={i === 0 ? 'primary' : 'plain'}>
              {action}
            </LinkButton>
          </li>
        ))}
      </ol>
    </section>
  );
}
