import { move, transferableSymbol, valueSymbol } from 'piscina';
import { setNiceness } from '../src/core/niceness.ts';
import { denyConnections } from '../src/egress/deny-connections.ts';
import { parseJson } from '../src/http/json-body.ts';
import { collectTransferables, type PrepareTask, prepareRequest } from '../src/requests/prepare-request.ts';

denyConnections();

/**
 * Niceness of a thread that parses bodies of several megabytes while other requests wait for short replies.
 */
const niceness = 5;

setNiceness(niceness);

/** Returns a `PrepareResult`; its bytes move without a copy. */
export default function prepare(task: PrepareTask): unknown {
  const outcome = prepareRequest(task, parseJson);
  return move({ [transferableSymbol]: collectTransferables(outcome), [valueSymbol]: outcome });
}
