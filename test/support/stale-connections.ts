/** Less than the 10 s after which uWebSockets.js closes an idle connection. */
const idleMsMax = 8_000;

let latestReplyAt = performance.now();

/**
 * Sends a request, and sends it again if it failed on a connection that the server closed because it was idle. A test
 * can block its process for seconds, much longer on a busy machine, so that the client does not learn of the end of the
 * connection before it uses it. The server has not received such a request. Any other failure is thrown.
 */
export async function sendOnOpenConnection<Reply>(send: () => Promise<Reply>): Promise<Reply> {
  const wasIdle = performance.now() - latestReplyAt > idleMsMax;
  try {
    return await send();
  } catch (error) {
    if (!wasIdle || !isConnectionEnd(error)) throw error;
    return await send();
  } finally {
    latestReplyAt = performance.now();
  }
}

const endCodes = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** `fetch` throws an error whose cause has the code, `node:http` an error that has it. */
function isConnectionEnd(error: unknown): boolean {
  const { code, cause } = error as { code?: string; cause?: { code?: string } };
  return [code, cause?.code].some((each) => each !== undefined && endCodes.has(each));
}
