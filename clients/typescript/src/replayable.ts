/**
 * Reads the request's body once, and returns a function that makes a copy of the request for each attempt.
 *
 * `Request.clone` would keep a process of Node 18 alive, if one of the two bodies is not read.
 */
export async function replayable(request: Request): Promise<(init: RequestInit) => Request> {
  // Firefox has no `Request.body` that would say whether there is one.
  const body = request.body === null ? new ArrayBuffer(0) : await request.arrayBuffer();
  return (init) => new Request(request, body.byteLength === 0 ? init : { ...init, body });
}
