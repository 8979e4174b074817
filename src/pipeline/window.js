/**
 * The windows of a pipeline, one for each bucket: a stripe of one partition, with a connection to the primary that has the partition.
 * Records when each batch is sent for the first time, and how late.
 */

/** @typedef {import('./open-batches.js').OpenBatch} OpenBatch */

/**
 * @param {Pick<import('./pipeline.js').PipelineOptions, 'ack' | 'send' | 'isAlone' | 'clock' | 'onBehind'> & { buckets: number,
 *   account: import('./delivery.js').Account, onAcknowledged: (batch: OpenBatch, answer: import('./acks.js').Answer) => void,
 *   onFull: () => void, onRefused: (error: Error) => void }} parts
 */
export function createStripeWindows ({ ack, buckets, send, isAlone, clock, onBehind = () => {}, account, ...on }) {
  /** @type {number[]} of the batches being sent; reported after the send, because the hook may append */
  const behindMs = []

  /** @param {OpenBatch} one @param {boolean} again */
  function onSent (one, again) {
    if (again) {
      account.retried += one.batch.count
      return
    }
    one.sentMs = clock()
    behindMs.push(Math.max(0, one.sentMs - one.flushDueMs))
  }

  return Array.from({ length: buckets }, (_, bucket) => createWindow({
    send (connection, /** @type {OpenBatch[]} */ group) {
      const answers = send(bucket, connection, group.map(({ batch }) => batch))
      for (const ms of behindMs.splice(0)) onBehind(ms)
      return answers
    },
    grouped: ack.grouped,
    isAlone,
    onSent,
    ...on
  }))
}

/**
 * Batches in flight on one connection: sent in order, acknowledged in order, kept until then.
 *
 *     acknowledged | sent, unanswered | waiting for a connection
 *                  ^ head             ^ sent
 *
 * Go-back-N: when a reply cannot arrive (the session ended, the server was full), the window sends everything from the
 * head again, in order. Sending a batch twice has the effect of sending it once, and an older version never overwrites a
 * newer one. Rejected: retrying single batches, which reorders them.
 *
 * After a failure the head is sent alone, and each acknowledged batch allows one more to be unanswered. A server that answers a batch
 * within the reply timeout, but not all that was in flight, would otherwise get everything again and again, and acknowledge nothing.
 *
 * A grouped window sends all waiting batches as one group, and the next group after its acknowledgement, at the end of the
 * turn: batches of several partitions that close in the same turn join the group. While the layout sends batches alone, the next one
 * waits for the answer to the one before.
 */

const FULL_WAIT_MS = 100
/** while a slot moves, or its cluster is not whole; doubles from try to try */
const LATER_WAIT_MS = 20
const LONGEST_LATER_MS = 160
/** a window with so many unanswered batches is busy: another partial batch would only wait */
const BUSY_BATCHES = 4

/** @typedef {import('../store/index.js').Connection} Connection */

/**
 * @template B
 * @param {{ send: (connection: Connection, batches: B[]) => Promise<import('./acks.js').Answer[]>, grouped?: boolean,
 *   isAlone?: (connection: Connection) => boolean,
 *   onSent: (batch: B, again: boolean) => void,
 *   onAcknowledged: (batch: B, answer: import('./acks.js').Answer) => void,
 *   onFull: () => void, onRefused: (error: Error) => void }} parts
 *   `onRefused`: the server will always refuse the head; nothing more is sent
 */
export function createWindow ({ send, grouped = false, isAlone = () => false, onSent, onAcknowledged, onFull, onRefused }) {
  const queue = /** @type {ReturnType<typeof createQueue<B>>} */ (createQueue())
  /** @type {Connection | null} */
  let connection = null
  const pause = createPause(sendAll)
  let full = false
  let isClosed = false
  /** batches that may be unanswered */
  let most = Infinity
  let lostInRow = 0

  const isOneByOne = () => grouped || (connection !== null && isAlone(connection))
  const isFree = () => !pause.isOn && !(queue.sent > 0 && isOneByOne())

  function sendAll () {
    while (connection !== null && isFree() && queue.sent < Math.min(most, queue.length)) {
      const { attempt } = queue
      const group = queue.take(grouped ? most : queue.sent + 1, onSent)
      send(connection, group).then(
        (answers) => { if (attempt === queue.attempt) acknowledge(answers) },
        (error) => { if (attempt === queue.attempt) fail(error) })
    }
  }

  /** @param {import('./acks.js').Answer[]} answers */
  function acknowledge (answers) {
    full = false
    most += answers.length
    pause.reset()
    lostInRow = 0
    for (const answer of answers) onAcknowledged(queue.shift(), answer)
    if (grouped) setImmediate(sendAll)
    else sendAll()
  }

  /** @param {Error & { outcome?: import('../store/index.js').Outcome, publicWhy?: string }} error */
  function fail (error) {
    queue.rewind()
    most = 1
    if (error.outcome === 'over' || error.outcome === 'moved') connection?.close(error.message)
    else if (error.outcome === 'forbidden') connection?.close(error.message, { refused: true, publicWhy: error.publicWhy })
    else if (error.outcome === 'full') {
      full = true
      onFull()
      pause.full()
    } else if (error.outcome === 'later') pause.later()
    else {
      connection = null
      onRefused(error)
    }
  }

  /** @param {Connection | null} next */
  function restart (next) {
    queue.rewind()
    connection = next
    sendAll()
  }

  return {
    /** Batches not yet acknowledged. */
    get length () { return queue.length },
    /** Batches sent and not answered. */
    get unanswered () { return queue.sent },
    get canSend () { return connection !== null && !full },
    /** A batch pushed now would wait. */
    get busy () { return pause.isOn || queue.sent >= (isOneByOne() ? 1 : Math.min(most, BUSY_BATCHES)) },
    /** The server had no memory for the last batch. */
    get full () { return full },
    /** @param {B} batch */
    push (batch) {
      if (isClosed) return
      queue.push(batch)
      if (grouped) queueMicrotask(sendAll)
      else sendAll()
    },
    /** A new session. @param {Connection} opened */
    attach (opened) { if (!isClosed) restart(opened) },
    /** The session has ended. */
    detach () {
      if (queue.sent > 0) lostInRow++
      most = 1
      restart(null)
    },
    /** Sessions that ended since the last acknowledgement, each with the same head unanswered. */
    get lostInRow () { return lostInRow },
    /** Gives up what it holds and ignores later sessions. */
    close () {
      isClosed = true
      pause.end()
      restart(null)
    }
  }
}

/** While a server cannot take the head. @param {() => void} resume when it may be sent again */
function createPause (resume) {
  /** @type {NodeJS.Timeout | null} */
  let timer = null
  /** the last wait for a slot; 0 = none */
  let laterMs = 0

  /** @param {number} ms */
  function wait (ms) {
    timer = setTimeout(() => {
      timer = null
      resume()
    }, ms)
  }

  return {
    get isOn () { return timer !== null },
    full () { wait(FULL_WAIT_MS) },
    later () {
      laterMs = Math.min(Math.max(2 * laterMs, LATER_WAIT_MS), LONGEST_LATER_MS)
      wait(laterMs)
    },
    /** The next wait for a slot is short again. */
    reset () { laterMs = 0 },
    end () { if (timer !== null) clearTimeout(timer) }
  }
}

/**
 * The unacknowledged batches, oldest first; the first `sent` of them were sent in this attempt.
 * @template B
 */
function createQueue () {
  /** @type {B[]} */
  const batches = []
  let sent = 0
  let everSent = 0
  let attempt = 0
  return {
    get length () { return batches.length },
    get sent () { return sent },
    get attempt () { return attempt },
    /** @param {B} batch */
    push (batch) { batches.push(batch) },

    /** Marks the batches up to `end` as sent. @param {number} end @param {(batch: B, again: boolean) => void} onSent @returns {B[]} */
    take (end, onSent) {
      const group = batches.slice(sent, end)
      for (const batch of group) {
        sent++
        const again = sent <= everSent
        everSent = Math.max(everSent, sent)
        onSent(batch, again)
      }
      return group
    },

    /** Removes the head, which is acknowledged. */
    shift () {
      sent--
      everSent--
      return /** @type {B} */ (batches.shift())
    },

    /** Starts a new attempt at the head; replies of earlier attempts no longer count. */
    rewind () {
      attempt++
      sent = 0
    }
  }
}
