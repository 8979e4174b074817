/**
 * What tap takes from `async-hook-domain` in a lane. The package finds the test of an exception that no code caught by a hook on every
 * promise and handle, which costs an eighth of the processor time of all tests. lane.js gives it to the test that runs instead.
 */
export class Domain {
  /** @param {(error: unknown, origin: string) => void} onerror */
  constructor (onerror) {
    this.onerror = onerror
  }

  destroy () {}
}
