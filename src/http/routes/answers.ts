import { AnswerRequest, AnswerResponse, checkAnswer } from '../../schemas/answers.ts';
import { checkCollection, organizationRoute } from './json-route.ts';
import type { Route } from './route.ts';

export const answerRoutes: readonly Route[] = [
  organizationRoute({
    operation: 'answer',
    access: 'read',
    path: '/answers',
    tag: 'answers',
    summary: 'Answer a question',
    description:
      'Answers a question with the chat model of the server, from the most relevant snippets. Each sentence names the snippets that it cites; sentences without a valid citation are left out, and `answer` is null if none remain. With `stream: true`, the reply is a stream of server-sent events: `sentence` for each sentence, then `answer` with the whole reply, or `error`.',
    request: AnswerRequest,
    reply: AnswerResponse,
    example: { collection_name: 'handbook', question: 'How long do refunds take?' },
    errorResponses: {
      404: 'The collection or the reranker does not exist.',
      502: 'The reply of the chat model is unusable, or it rejected the request.',
      503: 'No chat model is configured, or it does not respond. `retry-after` gives the waiting time.',
    },
    check: (request) => {
      checkCollection(request);
      checkAnswer(request);
    },
    serve: (services, call, request) => services.answers.answer(call, request),
    openStream: (services, call, request, isAllowed) =>
      services.answers.streamAnswer(call, request, isAllowed),
  }),
];
