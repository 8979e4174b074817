import t from 'tap'
import fc from 'fast-check'
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises'
import { createWindow } from '../../src/pipeline/window.js'
import { holds } from '../properties.js'

/** Resolves when a window has sent what it may: after an acknowledgement, a grouped one sends at the end of the turn. */
async function sent () {
  await turn()
  await turn()
}

/** A window over connections that the test answers by hand. @param {{ isAlone?: () => boolean }} [options] */
function build (options) {
  /**
   * @type {{ batch: any, connection: any, resolve: (answer: { late: number }) => void,
   *   reject: (error: Error) => void }[]} sent and unanswered
   */
  const wire = []
  /** @type {string[]} */
  const events = []
  const window = createWindow({
    send: (connection, batches) =>
      Promise.all(batches.map((batch) => new Promise((resolve, reject) => { wire.push({ batch, connection, resolve, reject }) }))),
    onSent: (batch, again) => events.push(`${again ? 'again' : 'sent'} ${batch.name}`),
    onAcknowledged: (batch, { late }) => events.push(`acknowledged ${batch.name}${late ? ` late ${late}` : ''}`),
    onFull: () => events.push('full'),
    onRefused: (error) => events.push(`refused ${error.message}`),
    ...options
  })
  let sessions = 0
  const open = () => {
    const connection = { name: `session ${++sessions}`, close: (/** @type {string} */ reason) => events.push(`closed ${reason}`) }
    window.attach(/** @type {any} */ (connection))
    return connection
  }
  const push = (/** @type {string | number} */ name) => window.push(/** @type {any} */ ({ name }))
  const answer = async (late = 0) => {
    wire.shift()?.resolve({ late })
    await turn()
  }
  const fail = async (/** @type {string} */ outcome) => {
    wire.shift()?.reject(Object.assign(new Error(outcome), { outcome }))
    await turn()
  }
  const seen = () => events.splice(0)
  return { window, wire, open, push, answer, fail, seen }
}

t.test('batches wait for a connection, go in order, and are acknowledged in order', async (t) => {
  const { window, open, push, answer, seen } = build()
  push('a')
  push('b')
  t.same(seen(), [])
  t.equal(window.canSend, false)
  open()
  push('c')
  t.same(seen(), ['sent a', 'sent b', 'sent c'])
  t.equal(window.unanswered, 3)
  await answer()
  await answer(2)
  t.same(seen(), ['acknowledged a', 'acknowledged b late 2'])
  t.equal(window.length, 1)
  t.equal(window.unanswered, 1)
})

t.test('when a session ends, everything unanswered is sent again on the next, in order, the head alone at first', async (t) => {
  const { window, wire, open, push, answer, fail, seen } = build()
  open()
  for (const name of ['a', 'b', 'c']) push(name)
  await answer()
  seen()
  await fail('over')
  t.same(seen(), ['closed over'])
  wire.length = 0
  window.detach()
  push('d')
  t.same(seen(), [])
  open()
  t.same(seen(), ['again b'])
  t.equal(window.busy, true, 'so that a partial batch goes on filling')
  await answer()
  t.same(seen(), ['acknowledged b', 'again c', 'sent d'])
  t.equal(wire.at(-1)?.connection.name, 'session 2')
})

for (const grouped of [false, true]) {
  t.test(`a server that answers some batches in time, not all at once, gets what it can answer${grouped ? ', grouped' : ''}`, async (t) => {
    const [count, inTime] = [100, 10]
    /** of the session, and not answered @type {((answers: { late: number }[]) => void)[][]} */
    let received = []
    let sessions = 0
    /** @type {number[]} */
    const acknowledged = []
    const window = createWindow({
      grouped,
      send: (connection, batches) => new Promise((resolve) => { received.push(batches.map(() => resolve)) }),
      onSent () {},
      onAcknowledged: (batch) => acknowledged.push(batch),
      onFull () {},
      onRefused: (error) => { throw error }
    })
    for (let n = 0; n < count; n++) window.push(n)
    while (acknowledged.length < count && sessions < count) {
      sessions++
      window.attach(/** @type {any} */ ({ close () {} }))
      for (await sent(); received.length > 0 && received.flat().length <= inTime; await sent()) {
        for (const group of received.splice(0)) group[0](group.map(() => ({ late: 0 })))
      }
      // too much at once: the reply timeout ends the session
      received = []
      window.detach()
    }
    t.same(acknowledged, Array.from({ length: count }, (_, n) => n))
    t.comment(`${sessions} sessions`)
  })
}

t.test('replies of an ended session do not count', async (t) => {
  const { window, open, push, answer, seen } = build()
  open()
  push('a')
  window.detach()
  open()
  seen()
  await answer()
  t.same(seen(), [], 'the reply of session 1')
  t.equal(window.length, 1)
  await answer()
  t.same(seen(), ['acknowledged a'])
})

t.test('a full server is tried again a little later, from the head on', async (t) => {
  const { window, open, push, answer, fail, seen } = build()
  open()
  for (const name of ['a', 'b']) push(name)
  seen()
  await fail('full')
  t.equal(window.canSend, false)
  await answer()
  push('c')
  t.same(seen(), ['full'], 'b was taken by the server, but goes again behind a')
  while (window.unanswered === 0) await pause(5)
  t.same(seen(), ['again a'], 'the head alone, until the server takes it')
  for (let i = 0; i < 3; i++) await answer()
  t.same(seen(), ['acknowledged a', 'again b', 'sent c', 'acknowledged b', 'acknowledged c'])
})

t.test('while a slot moves, the head alone is tried again, later and later', async (t) => {
  const { window, open, push, answer, fail, seen } = build()
  open()
  push('a')
  seen()
  const waits = []
  for (let i = 0; i < 3; i++) {
    const failedMs = performance.now()
    await fail('later')
    t.equal(window.busy, true, 'so that a partial batch goes on filling')
    if (i === 0) push('b')
    while (window.unanswered === 0) await pause(1)
    waits.push(performance.now() - failedMs)
    t.same(seen(), ['again a'])
  }
  t.ok(waits[0] >= 19 && waits[1] >= 39 && waits[2] >= 79, waits.join(' '))
  await answer()
  t.same(seen(), ['acknowledged a', 'sent b'])
})

t.test('while batches are sent alone, each waits for the answers to all before it', async (t) => {
  let isAlone = false
  const { window, open, push, answer, fail, seen } = build({ isAlone: () => isAlone })
  open()
  push('a')
  push('b')
  t.equal(window.busy, false)
  isAlone = true
  push('c')
  push('d')
  t.same(seen(), ['sent a', 'sent b'])
  t.equal(window.busy, true, 'so that a partial batch goes on filling')
  await answer()
  t.same(seen(), ['acknowledged a'])
  await answer()
  t.same(seen(), ['acknowledged b', 'sent c'])
  await fail('full')
  while (window.unanswered === 0) await pause(5)
  await answer()
  isAlone = false
  await answer()
  push('e')
  t.same(seen(), ['full', 'again c', 'acknowledged c', 'sent d', 'acknowledged d', 'sent e'])
})

t.test('a permanent refusal stops the sending', async (t) => {
  const { window, open, push, fail, seen } = build()
  open()
  push('a')
  push('b')
  seen()
  await fail('refused')
  push('c')
  t.same(seen(), ['refused refused'])
  t.equal(window.canSend, false)
  t.equal(window.length, 3)
})

t.test('a closed window sends nothing more, even after a pause', async (t) => {
  const { window, open, push, fail, seen } = build()
  open()
  push('a')
  await fail('full')
  seen()
  window.close()
  await pause(150)
  t.same(seen(), [])
})

t.test('nor when a connection opens later, or more is pushed', async (t) => {
  const { window, wire, open, push, seen } = build()
  push('a')
  window.close()
  open()
  push('b')
  await turn()
  t.same(seen(), [])
  t.equal(wire.length, 0)
})

const anyStory = fc.array(fc.constantFrom('push', 'push', 'answer', 'answer', 'over', 'full', 'later', 'open', 'lose', 'wait'),
  { maxLength: 60 })

t.test('through any story each batch is acknowledged once, in order, and sent before that', (t) =>
  holds(t, fc.asyncProperty(anyStory, async (story) => {
    const { window, wire, open, push, answer, fail, seen } = build()
    let pushed = 0
    const steps = /** @type {Record<string, () => unknown>} */ ({
      push: () => push(pushed++),
      answer,
      over: () => fail('over'),
      full: () => fail('full'),
      later: () => fail('later'),
      open: () => { wire.length = 0; open() },
      lose: () => { wire.length = 0; window.detach() },
      wait: turn
    })
    for (const step of story) await steps[step]()
    wire.length = 0
    open()
    while (window.length > 0) {
      if (wire.length === 0) await pause(5)
      await answer()
    }
    const events = seen()
    const acknowledged = events.filter((event) => event.startsWith('acknowledged'))
    const firstSent = events.filter((event) => event.startsWith('sent'))
    const inOrder = (/** @type {string} */ word) => Array.from({ length: pushed }, (_, i) => `${word} ${i}`).join()
    if (acknowledged.join() !== inOrder('acknowledged') || firstSent.join() !== inOrder('sent')) throw new Error(events.join('; '))
    window.close()
  }), { runs: 40 }))
