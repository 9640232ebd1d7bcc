import { move, transferableSymbol, valueSymbol } from 'piscina';
import { beLessUrgent } from '../src/base/less-urgent.ts';
import { refuseConnections } from '../src/egress/refuse-connections.ts';
import { parseJson } from '../src/http/json-body.ts';
import { type PrepareTask, prepareRequest, transferredBuffers } from '../src/requests/prepare-request.ts';

refuseConnections();

/** Niceness of a thread that reads bodies of megabytes, while others wait for short replies. */
const niceness = 5;

beLessUrgent(niceness);

/** Answers a `PrepareOutcome`; its bytes move without a copy. */
export default function prepare(task: PrepareTask): unknown {
  const outcome = prepareRequest(task, parseJson);
  return move({ [transferableSymbol]: transferredBuffers(outcome), [valueSymbol]: outcome });
}
