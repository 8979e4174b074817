/**
 * Memory as slots of one size, in chunks. Records, nodes of the order and the bytes of items all live in such slots.
 *
 *     chunk 0   [ used ][ free ][ used ][ used ]          4 KiB at first, later a quarter of all before, up to 256 KiB
 *     chunk 1   [ used ][ used ][ used ][ free ][ never used .......
 *
 * Why chunks: one typed array that doubles stands still while it is copied, and never becomes smaller. A chunk is made,
 * filled and given back alone. One int of a slot, the mark, tells what it is: 0 or more = in use (its meaning is the
 * owner's), negative = free, and which free slot comes next.
 *
 * After a peak: a chunk that is empty is given back (one may stay, for the next). When a third of all slots is free, the
 * emptiest chunk is drained: `drain` moves its slots into others, a few at a time, and gives it back.
 */
const MIN_CHUNK_BYTES = 4096
const MAX_CHUNK_BYTES = 256 * 1024
export const NONE = -1

/** Slots of one allocation. */
export class Chunk {
  number = NONE
  used = 0
  /** slots from here on were never used */
  fresh = 0
  /** first free slot below `fresh`, or NONE */
  free = NONE
  /** its place in the list of chunks with room, or NONE */
  openAt = NONE
  /** its place in the list of all chunks of its size */
  memberAt = NONE
  isDraining = false

  /** @param {Slots} owner @param {number} capacity slots */
  constructor (owner, capacity) {
    this.owner = owner
    this.slotBytes = owner.slotBytes
    this.slotInts = owner.slotBytes / 4
    this.capacity = capacity
    this.bytes = Buffer.allocUnsafeSlow(capacity * owner.slotBytes)
    this.ints = new Int32Array(this.bytes.buffer)
    this.floats = new Float64Array(this.bytes.buffer)
  }
}

/** Chunks by number. A number is used again when its chunk is gone. */
export class Chunks {
  /** @type {Chunk[]} */
  list = []
  bytes = 0
  /** @type {number[]} */
  #unused = []

  /** @param {Chunk} chunk */
  add (chunk) {
    chunk.number = this.#unused.pop() ?? this.list.length
    this.list[chunk.number] = chunk
    this.bytes += chunk.bytes.length
  }

  /** @param {Chunk} chunk @param {Chunk} emptied stands in its place, so that the list keeps one kind of element */
  delete (chunk, emptied) {
    this.list[chunk.number] = emptied
    this.#unused.push(chunk.number)
    this.bytes -= chunk.bytes.length
  }
}

export class Slots {
  used = 0
  capacity = 0
  /** index in its chunk of the slot that `take` gave */
  taken = 0
  /** @type {Chunk[]} */
  #members = []
  /** @type {Chunk[]} chunks with room */
  #open = []
  /** @type {Chunk | null} */
  #draining = null
  #drainedTo = 0
  #markAt
  #minSlots
  #maxSlots
  #emptied

  /**
   * @param {number} slotBytes a multiple of 8
   * @param {number} markAt which int of a slot is its mark
   * @param {Chunks} chunks where its chunks get their numbers
   */
  constructor (slotBytes, markAt, chunks) {
    this.slotBytes = slotBytes
    this.chunks = chunks
    this.#markAt = markAt
    this.#minSlots = Math.max(1, Math.floor(MIN_CHUNK_BYTES / slotBytes))
    this.#maxSlots = Math.max(1, Math.floor(MAX_CHUNK_BYTES / slotBytes))
    this.#emptied = new Chunk(this, 0)
  }

  /** @returns {Chunk} with the slot `taken`; its mark is to be set by the caller */
  take () {
    const open = this.#open
    const chunk = open.length > 0 ? open[open.length - 1] : this.#grow()
    if (chunk.free !== NONE) {
      this.taken = chunk.free
      chunk.free = -chunk.ints[chunk.free * chunk.slotInts + this.#markAt] - 2
    } else this.taken = chunk.fresh++
    this.used++
    if (++chunk.used === chunk.capacity) this.#close(chunk)
    return chunk
  }

  /** @param {Chunk} chunk @param {number} index */
  release (chunk, index) {
    chunk.ints[index * chunk.slotInts + this.#markAt] = -chunk.free - 2
    chunk.free = index
    this.used--
    if (chunk.used-- === chunk.capacity && !chunk.isDraining) this.#reopen(chunk)
    if (chunk.used === 0) this.#emptiedOne(chunk)
  }

  /** whether so much is free that draining pays */
  get isSparse () {
    return this.#draining !== null || this.capacity - this.used > this.used / 2 + 2 * this.#minSlots
  }

  /**
   * Goes on with draining the emptiest chunk.
   * @param {number} moves at most
   * @param {(chunk: Chunk, index: number) => void} move takes another slot, and releases this one
   * @returns {number} moves made
   */
  drain (moves, move) {
    const chunk = this.#draining ?? this.#beginDraining()
    if (chunk.used === 0) this.#emptiedOne(chunk)
    let made = 0
    for (let index = this.#drainedTo; made < moves && this.#draining === chunk; index++) {
      this.#drainedTo = index + 1
      if (chunk.ints[index * chunk.slotInts + this.#markAt] < 0) continue
      move(chunk, index)
      made++
    }
    return made
  }

  #beginDraining () {
    const emptiest = this.#members.reduce((a, b) => b.used * a.capacity < a.used * b.capacity ? b : a)
    emptiest.isDraining = true
    if (emptiest.openAt !== NONE) this.#close(emptiest)
    this.#draining = emptiest
    this.#drainedTo = 0
    return emptiest
  }

  #grow () {
    // less than what makes it sparse
    const capacity = Math.min(this.#maxSlots, Math.max(this.#minSlots, this.used >>> 2))
    const chunk = new Chunk(this, capacity)
    this.chunks.add(chunk)
    chunk.memberAt = this.#members.push(chunk) - 1
    this.capacity += capacity
    this.#reopen(chunk)
    return chunk
  }

  /** @param {Chunk} chunk */
  #emptiedOne (chunk) {
    if (this.used === 0) {
      while (this.#members.length > 0) this.#giveBack(this.#members[0])
      return
    }
    const freeInOthers = this.capacity - chunk.capacity - this.used
    if (freeInOthers >= chunk.capacity / 4 || this.#maxSlots <= 4 || chunk.isDraining) this.#giveBack(chunk)
  }

  /** @param {Chunk} chunk that is empty */
  #giveBack (chunk) {
    if (chunk.openAt !== NONE) this.#close(chunk)
    if (this.#draining === chunk) this.#draining = null
    const last = /** @type {Chunk} */ (this.#members.pop())
    if (last !== chunk) {
      this.#members[chunk.memberAt] = last
      last.memberAt = chunk.memberAt
    }
    this.capacity -= chunk.capacity
    this.chunks.delete(chunk, this.#emptied)
  }

  /** @param {Chunk} chunk */
  #reopen (chunk) {
    chunk.openAt = this.#open.push(chunk) - 1
  }

  /** @param {Chunk} chunk */
  #close (chunk) {
    const last = /** @type {Chunk} */ (this.#open.pop())
    if (last !== chunk) {
      this.#open[chunk.openAt] = last
      last.openAt = chunk.openAt
    }
    chunk.openAt = NONE
  }
}
