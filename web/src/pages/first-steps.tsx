import { LinkButton } from '../components/button.tsx';
import { texts } from '../texts/en/overview.ts';
import { hasRole } from './team/roles.tsx';

const steps = (mayCreateKeys: boolean) => [
  {
    title: texts.uploadDocuments,
    text: texts.uploadFilesOrFoldersPdf,
    to: '/app/upload',
    action: texts.uploadDocuments,
  },
  {
    title: texts.runAQuery,
    text: texts.enterAQuestionMatchingText,
    to: '/app/search',
    action: texts.search,
  },
  {
    title: texts.useTheApi,
    text: mayCreateKeys ? texts.createAnApiKeyAnd : texts.getAnApiKeyFrom,
    to: '/app/keys',
    action: mayCreateKeys ? texts.createKey : texts.viewKeys,
  },
];

/** First steps for an organization without documents. */
export function FirstSteps() {
  return (
    <section class="card first-steps" aria-label={texts.firstSteps}>
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
