/**
 * Batches on their way: sent in order over one connection, acknowledged in order, kept until then.
 *
 *     acknowledged | sent, unanswered | waiting for a connection
 *                  ^ head             ^ sent
 *
 * Go-back-N: whenever an answer cannot be had (the epoch ended, the server was full), everything from the head on is
 * sent again, in order, on the next occasion. A batch sent twice has the effect of one sent once, so the only cost is
 * the sending, and an older version never comes to lie over a newer one. Rejected: retrying single batches, which
 * reorders them.
 *
 * A grouped window sends everything that waits as one group, and the next group when that is acknowledged: at the end of
 * the turn, so that what is closed in it, of several partitions, goes along.
 */

const FULL_WAIT_MS = 100
/** with so many unanswered, a batch that is not full would only wait */
const LONE_BATCHES = 4

/** @typedef {import('../layouts/index.js').Batch} Batch */
/** @typedef {import('../store/connection.js').Connection} Connection */
/** @typedef {ReturnType<typeof createWindow>} Window */

/**
 * @param {{ send: (connection: Connection, batches: Batch[]) => Promise<{ late: number }[]>, grouped?: boolean,
 *   onSent: (batch: Batch, again: boolean) => void,
 *   onAcknowledged: (batch: Batch, answer: { late: number }) => void,
 *   onFull: () => void, onRefused: (error: Error) => void }} parts
 *   `onRefused`: the server will refuse the head again whatever we do; nothing more is sent
 */
export function createWindow ({ send, grouped = false, onSent, onAcknowledged, onFull, onRefused }) {
  /** @type {Batch[]} */
  const batches = []
  let sent = 0
  let everSent = 0
  let generation = 0
  /** @type {Connection | null} */
  let connection = null
  /** @type {NodeJS.Timeout | null} */
  let pause = null
  let full = false
  let isClosed = false

  const maySend = () => pause === null && !(grouped && sent > 0)

  function sendAll () {
    while (connection !== null && maySend()) {
      // a full server is asked with the head alone, until it takes it
      const end = full ? Math.min(1, batches.length) : batches.length
      if (sent >= end) return
      const group = batches.slice(sent, grouped ? end : sent + 1)
      const mine = generation
      for (const batch of group) {
        sent++
        const again = sent <= everSent
        everSent = Math.max(everSent, sent)
        onSent(batch, again)
      }
      send(connection, group).then(
        (answers) => { if (mine === generation) acknowledged(answers) },
        (error) => { if (mine === generation) unanswered(error) })
    }
  }

  /** @param {{ late: number }[]} answers */
  function acknowledged (answers) {
    full = false
    for (const answer of answers) {
      const batch = /** @type {Batch} */ (batches.shift())
      sent--
      everSent--
      onAcknowledged(batch, answer)
    }
    if (grouped) setImmediate(sendAll)
    else sendAll()
  }

  /** @param {Error & { outcome?: import('../store/replies.js').Outcome, publicWhy?: string }} error */
  function unanswered (error) {
    rewind()
    if (error.outcome === 'over') connection?.close(error.message)
    else if (error.outcome === 'forbidden') connection?.close(error.message, { refused: true, publicWhy: error.publicWhy })
    else if (error.outcome === 'full') {
      full = true
      onFull()
      pause = setTimeout(() => {
        pause = null
        sendAll()
      }, FULL_WAIT_MS)
    } else {
      connection = null
      onRefused(error)
    }
  }

  function rewind () {
    generation++
    sent = 0
  }

  return {
    /** Batches not yet acknowledged. */
    get length () { return batches.length },
    /** Batches sent and not answered. */
    get unanswered () { return sent },
    get canSend () { return connection !== null && !full },
    /** A batch pushed now would wait. */
    get busy () { return sent >= (grouped ? 1 : LONE_BATCHES) },
    /** The server had no memory for the last batch that it was asked to take. */
    get full () { return full },
    /** @param {Batch} batch */
    push (batch) {
      if (isClosed) return
      batches.push(batch)
      if (grouped) queueMicrotask(sendAll)
      else sendAll()
    },
    /** A new epoch. @param {Connection} opened */
    attach (opened) {
      if (isClosed) return
      rewind()
      connection = opened
      sendAll()
    },
    detach () {
      rewind()
      connection = null
    },
    /** What it holds is given up, also when its connection opens later. */
    close () {
      isClosed = true
      if (pause) clearTimeout(pause)
      rewind()
      connection = null
    }
  }
}
