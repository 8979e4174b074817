/** What goes round again and again, for those who wait until it has once. */
export function createRounds () {
  /** @type {(() => void)[]} */
  let waiting = []
  return {
    get isAwaited () { return waiting.length > 0 },

    /** Resolves at the end of a round that has not begun yet. @returns {Promise<void>} */
    next: () => new Promise((resolve) => { waiting.push(resolve) }),

    /** A round begins. @returns {(isWhole: boolean) => void} to be called at its end; who waited for one that failed waits for another */
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
