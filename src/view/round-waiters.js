/** Callers that wait until a repeated round has run once from start to end. */
export function createRoundWaiters () {
  /** @type {(() => void)[]} */
  let waiting = []
  return {
    /** Resolves at the end of a round that begins after this call. @returns {Promise<void>} */
    next: () => new Promise((resolve) => { waiting.push(resolve) }),

    /** A round begins. @returns {(isWhole: boolean) => void} to be called at its end; after a failed round its waiters wait for the next */
    begin () {
      const mine = waiting
      waiting = []
      return (isWhole) => {
        if (isWhole) for (const resolve of mine) resolve()
        else waiting.push(...mine)
      }
    }
  }
}
