import { Corpus } from './corpus.ts';
import type { BenchOptions } from './options.ts';

interface TopicDocument {
  readonly id: string;
  readonly text: string;
}

/** Made-up documents, and questions with the documents that answer them: those of the topic that it is about. */
export function topicQuestions(options: BenchOptions): {
  readonly documents: readonly TopicDocument[];
  /** Each is answered by a document at least. */
  readonly questions: readonly {
    readonly id: string;
    readonly text: string;
    readonly answers: readonly TopicDocument[];
  }[];
} {
  const corpus = new Corpus({ ...options, documents: Math.max(...options.documents) });
  const documents = Array.from({ length: corpus.documents }, (_, i) => {
    const { path, text } = corpus.document(i);
    return { id: path, text };
  });
  const questions = Array.from({ length: options.questions }, (_, i) => {
    const topic = `topic-${corpus.topicOfQuestion(i)}/`;
    const answers = documents.filter(({ id }) => id.startsWith(topic));
    return { id: String(i), text: corpus.question(i), answers };
  });
  return { documents, questions: questions.filter(({ answers }) => answers.length > 0) };
}
