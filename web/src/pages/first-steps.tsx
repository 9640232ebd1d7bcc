import { LinkButton } from '../parts/button.tsx';

const steps = [
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
    words: 'Create an API key, and copy the call from the playground as curl, Node or Python.',
    to: '/app/keys',
    action: 'Create a key',
  },
] as const;

/** For an organisation without documents: the way to the first answer. */
export function FirstSteps() {
  return (
    <section class="card first-steps" aria-label="First steps">
      <ol>
        {steps.map(({ title, words, to, action }, i) => (
          <li key={to}>
            <h2>{title}</h2>
            <p class="soft">{words}</p>
            <LinkButton href={to} tone={i === 0 ? 'primary' : 'plain'}>
              {action}
            </LinkButton>
          </li>
        ))}
      </ol>
    </section>
  );
}
