/**
 * A slab allocator: buckets of one size, in chunks. Records of items and nodes of an order are such buckets.
 *
 *     chunk 0   [ used ][ free ][ used ][ used ]          4 KiB at first, later a quarter of all before, up to 256 KiB
 *     chunk 1   [ used ][ used ][ used ][ free ][ never used .......
 *
 * Why chunks: a typed array that doubles pauses for the copy, and never shrinks. A chunk is allocated and freed on its own. One
 * int of a bucket, the mark, is 0 or more while it is in use (the owner defines the meaning); negative = free, and it encodes
 * the next free bucket.
 *
 * An empty chunk is freed, except one. When a third of all buckets is free, `drain` moves the buckets of the emptiest chunk
 * into others, a few at a time, and frees it.
 */
const MIN_CHUNK_BYTES = 4096
const MAX_CHUNK_BYTES = 256 * 1024
export const NONE = -1

/** Buckets of one allocation. */
export class Chunk {
  number = NONE
  used = 0
  /** buckets from this index on were never used */
  fresh = 0
  /** first free bucket below `fresh`, or NONE */
  free = NONE
  /** its index in the list of chunks with room, or NONE */
  openAt = NONE
  /** its index in the list of all chunks of its size */
  memberAt = NONE
  isDraining = false

  /** @param {Buckets} owner @param {number} capacity buckets */
  constructor (owner, capacity) {
    this.owner = owner
    this.bucketBytes = owner.bucketBytes
    this.bucketInts = owner.bucketBytes / 4
    this.capacity = capacity
    this.bytes = Buffer.allocUnsafeSlow(capacity * owner.bucketBytes)
    this.ints = new Int32Array(this.bytes.buffer)
    this.floats = new Float64Array(this.bytes.buffer)
  }
}

/** Chunks by number. The number of a freed chunk is reused. */
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

  /** @param {Chunk} chunk @param {Chunk} emptied takes its place, so the list keeps one kind of element */
  delete (chunk, emptied) {
    this.list[chunk.number] = emptied
    this.#unused.push(chunk.number)
    this.bytes -= chunk.bytes.length
  }
}

export class Buckets {
  used = 0
  capacity = 0
  /** index in its chunk of the bucket that `take` returned last */
  taken = 0
  /** @type {Chunk[]} */
  #members = []
  /** @type {Chunk[]} chunks with room */
  #open = []
  /** @type {Chunk | null} */
  #draining = null
  #drainedTo = 0
  #markAt
  #minBuckets
  #maxBuckets
  #emptied

  /**
   * @param {number} bucketBytes a multiple of 8
   * @param {number} markAt which int of a bucket is its mark
   * @param {Chunks} chunks numbers its chunks
   */
  constructor (bucketBytes, markAt, chunks) {
    this.bucketBytes = bucketBytes
    this.chunks = chunks
    this.#markAt = markAt
    this.#minBuckets = Math.max(1, Math.floor(MIN_CHUNK_BYTES / bucketBytes))
    this.#maxBuckets = Math.max(1, Math.floor(MAX_CHUNK_BYTES / bucketBytes))
    this.#emptied = new Chunk(this, 0)
  }

  /** @returns {Chunk} with the bucket `taken`; the caller sets its mark */
  take () {
    const open = this.#open
    const chunk = open.length > 0 ? open[open.length - 1] : this.#grow()
    if (chunk.free !== NONE) {
      this.taken = chunk.free
      chunk.free = -chunk.ints[chunk.free * chunk.bucketInts + this.#markAt] - 2
    } else this.taken = chunk.fresh++
    this.used++
    if (++chunk.used === chunk.capacity) this.#close(chunk)
    return chunk
  }

  /** @param {Chunk} chunk @param {number} index */
  release (chunk, index) {
    chunk.ints[index * chunk.bucketInts + this.#markAt] = -chunk.free - 2
    chunk.free = index
    this.used--
    if (chunk.used-- === chunk.capacity && !chunk.isDraining) this.#reopen(chunk)
    if (chunk.used === 0) this.#whenEmpty(chunk)
  }

  /** whether enough is free to drain a chunk */
  get isSparse () {
    return this.#draining !== null || this.capacity - this.used > this.used / 2 + 2 * this.#minBuckets
  }

  /**
   * Continues to drain the emptiest chunk.
   * @param {number} moves at most
   * @param {(chunk: Chunk, index: number) => void} move takes another bucket and releases this one
   * @returns {number} moves made
   */
  drain (moves, move) {
    const chunk = this.#draining ?? this.#beginDraining()
    if (chunk.used === 0) this.#whenEmpty(chunk)
    let made = 0
    for (let index = this.#drainedTo; made < moves && this.#draining === chunk; index++) {
      this.#drainedTo = index + 1
      if (chunk.ints[index * chunk.bucketInts + this.#markAt] < 0) continue
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
    // less than makes it sparse
    const capacity = Math.min(this.#maxBuckets, Math.max(this.#minBuckets, this.used >>> 2))
    const chunk = new Chunk(this, capacity)
    this.chunks.add(chunk)
    chunk.memberAt = this.#members.push(chunk) - 1
    this.capacity += capacity
    this.#reopen(chunk)
    return chunk
  }

  /** @param {Chunk} chunk */
  #whenEmpty (chunk) {
    if (this.used === 0) {
      while (this.#members.length > 0) this.#free(this.#members[0])
      return
    }
    const freeInOthers = this.capacity - chunk.capacity - this.used
    if (freeInOthers >= chunk.capacity / 4 || this.#maxBuckets <= 4 || chunk.isDraining) this.#free(chunk)
  }

  /** @param {Chunk} chunk that is empty */
  #free (chunk) {
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
