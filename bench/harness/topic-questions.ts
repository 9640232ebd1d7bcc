import { Corpus } from './corpus.ts';
import type { BenchOptions } from './options.ts';

interface TopicDocument {
  readonly id: string;
  readonly text: string;
}

/** Generates documents, and questions with the relevant documents: those of the topic of the question. */
export function topicQuestions(options: BenchOptions): {
  readonly documents: readonly TopicDocument[];
  /** Each question has at least one relevant document. */
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
